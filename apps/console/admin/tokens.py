"""The tokens of machines, without their secrets, and the dialog that ends one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.decorators import action, display

from apps.accounts.models import Organization, ServiceToken
from apps.accounts.services.tokens import access_token, revoke_token
from apps.accounts.sessions import principal
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.dialogs import ReasonDialog, done, refused
from apps.console.identity import holds_anywhere
from tikitaka.authz import Permission, TokenKind
from tikitaka.errors import TikiTakaError


@admin.register(ServiceToken)
class TokenAdmin(GovernedAdmin):
    team_path = None
    list_display = ("name", "prefix", "kind", "state", "organization", "expires_at", "last_used_at")
    list_filter = ("kind",)
    list_select_related = ("organization",)
    exclude = ("secret_digest", "attempt_id")
    ordering = ("-created_at",)
    list_before_template = "console/token/list_head.html"
    actions_detail = ["revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Those of attempts live for minutes and are nobody's to look at."""
        return super().get_queryset(request).exclude(kind=TokenKind.ATTEMPT.value)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        may_make = holds_anywhere(request, Permission.TOKENS_MANAGE, Organization)
        return super().changelist_view(request, {"may_make": may_make, **(extra_context or {})})

    @display(description="state", label={"good": "success", "revoked": "danger", "expired": ""})
    def state(self, token: ServiceToken) -> str:
        if token.revoked_at is not None:
            return "revoked"
        return "expired" if token.expires_at <= timezone.now() else "good"

    def has_revoke_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.TOKENS_MANAGE, object_id)

    @action(
        description="Revoke",
        permissions=["revoke"],
        dialog={
            "title": "Revoke this token",
            "description": "From now on nobody gets in with it. This cannot be undone.",
            "form_class": ReasonDialog,
            "form_submit_text": "Revoke",
        },
    )
    def revoke(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        who = principal(request)
        try:
            revoke_token(actor=who, token=access_token(who, self.get_queryset(request).get(pk=object_id).pk))
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "Revoked.")
