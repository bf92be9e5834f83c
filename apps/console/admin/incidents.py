"""What a person must look at."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display

from apps.accounts.sessions import principal
from apps.conductor.incidents import close_incident
from apps.conductor.models import ImportSource, Incident
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.dialogs import ReasonDialog, done, refused
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError


@admin.register(Incident)
class IncidentAdmin(GovernedAdmin):
    team_path = None
    list_display = ("kind", "state", "subject", "detail", "team", "count", "opened_at", "last_seen_at")
    list_filter = ("kind", ("closed_at", admin.EmptyFieldListFilter))
    ordering = ("closed_at", "-opened_at")
    actions_detail = ["close"]

    @display(description="state", label={"open": "danger", "closed": ""})
    def state(self, incident: Incident) -> str:
        return "closed" if incident.closed_at else "open"

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """What is closed is not closed again."""
        incident = self._row(request, object_id)
        return super().get_actions_detail(request, object_id) if incident and not incident.closed_at else []

    def has_close_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.INCIDENT_CLOSE, object_id)

    @action(
        description="Close",
        permissions=["close"],
        dialog={
            "title": "Close this incident",
            "description": "You have dealt with it. It opens again if it is seen again.",
            "form_class": ReasonDialog,
            "form_submit_text": "Close",
        },
    )
    def close(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        try:
            close_incident(actor=principal(request), incident=self.get_queryset(request).get(pk=object_id))
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "Closed.")


@admin.register(ImportSource)
class ImportSourceAdmin(GovernedAdmin):
    list_display = ("agent", "thread_id", "forms", "imported_at")
