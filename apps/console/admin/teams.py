"""Teams and agents, with the stop switch."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display

from apps.accounts.sessions import principal
from apps.conductor import teams
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.budgets import BudgetedAdmin
from apps.console.admin.dialogs import ReasonDialog, done, refused
from apps.teams.models import Agent, Team
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError


@admin.register(Team)
class TeamAdmin(BudgetedAdmin):
    team_path = "pk"
    list_display = ("name", "organization", "state", "width", "created_at")
    exclude = ("name_key",)
    actions_detail = ["pause", "go_on", "budget", "archive"]

    @display(description="state", label={"running": "success", "paused": "warning", "archived": ""})
    def state(self, team: Team) -> str:
        return "archived" if team.archived_at else "paused" if team.paused_at else "running"

    def has_pause_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.WORK_PAUSE, object_id)

    def has_manage_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.TEAMS_MANAGE, object_id)

    @action(
        description="Pause",
        permissions=["pause"],
        dialog={
            "title": "Pause this team",
            "description": "Nothing is dispatched, nothing lands, nothing is granted until it goes on.",
            "form_class": ReasonDialog,
            "form_submit_text": "Pause",
        },
    )
    def pause(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        return self._act(
            request, object_id, "Paused.", lambda who, team: teams.pause_team(actor=who, team=team, paused=True)
        )

    @action(
        description="Go on",
        permissions=["pause"],
        dialog={
            "title": "Let this team go on",
            "description": "What waited is dispatched and landed.",
            "form_class": ReasonDialog,
            "form_submit_text": "Go on",
        },
    )
    def go_on(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        return self._act(
            request, object_id, "Goes on.", lambda who, team: teams.pause_team(actor=who, team=team, paused=False)
        )

    @action(
        description="Archive",
        permissions=["manage"],
        dialog={
            "title": "Archive this team",
            "description": "Everything that its agents hold is taken back. This cannot be undone.",
            "form_class": ReasonDialog,
            "form_submit_text": "Archive",
        },
    )
    def archive(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        return self._act(request, object_id, "Archived.", lambda who, team: teams.archive_team(actor=who, team=team))

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Only the switches that the state allows."""
        offered = super().get_actions_detail(request, object_id)
        team = self._row(request, object_id)
        unfit = {"Pause", "Go on", "Budget", "Archive"} if team is None or team.archived_at else {"Go on"}
        if team is not None and team.paused_at and not team.archived_at:
            unfit = {"Pause"}
        return [item for item in offered if item.description not in unfit]

    def _act(self, request: HttpRequest, object_id: str, text: str, do: Any) -> HttpResponse:
        rows: QuerySet[Team] = self.get_queryset(request)
        try:
            do(principal(request), rows.select_related("organization").get(pk=object_id))
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, text)


@admin.register(Agent)
class AgentAdmin(GovernedAdmin):
    list_display = ("name", "team", "runtime", "holds_notes", "retired_at")
    list_filter = ("team",)
    list_select_related = ("team",)
    exclude = ("name_key",)
    actions_detail = ["retire"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        held = Count("landings", filter=Q(landings__status="landed", landings__note__status="active"))
        return super().get_queryset(request).annotate(held=held)

    @display(description="notes held")
    def holds_notes(self, agent: Any) -> int:
        return int(agent.held)

    def has_manage_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.TEAMS_MANAGE, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Nobody retires twice."""
        agent = self._row(request, object_id)
        return super().get_actions_detail(request, object_id) if agent and not agent.retired_at else []

    @action(
        description="Retire",
        permissions=["manage"],
        dialog={
            "title": "Retire this agent",
            "description": "It runs no more, and everything that it holds is taken back. This cannot be undone.",
            "form_class": ReasonDialog,
            "form_submit_text": "Retire",
        },
    )
    def retire(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        rows: QuerySet[Agent] = self.get_queryset(request)
        try:
            teams.retire_agent(actor=principal(request), agent=rows.select_related("team").get(pk=object_id))
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "Retired.")
