"""The ledger, for reading only."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.decorators import display

from apps.accounts.models import Organization
from apps.accounts.selectors import containers_with
from apps.accounts.sessions import principal
from apps.console.admin.base import GovernedAdmin
from apps.ledger.models import Entry
from tikitaka.authz import Permission
from tikitaka.safety import show_hidden


@admin.register(Entry)
class EntryAdmin(GovernedAdmin):
    sees = Permission.LEDGER_READ
    team_path = None
    list_display = ("seq", "type", "subject_kind", "subject_id", "actor_id", "recorded_at")
    list_filter = ("type", "subject_kind")
    search_fields = ("subject_id", "actor_id", "type")
    ordering = ("-seq",)
    fields = ("seq", "type", "recorded_at", "leaf", "header_shown")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        seen = containers_with(principal(request), self.sees, Organization)
        return ModelAdmin.get_queryset(self, request).filter(log__organization_id__in=seen.values("pk"))

    @display(description="entry")
    def header_shown(self, entry: Entry) -> SafeString:
        text = json.dumps(json.loads(entry.header), indent=2, ensure_ascii=False, sort_keys=True)
        return format_html('<pre class="console-text">{}</pre>', show_hidden(text))
