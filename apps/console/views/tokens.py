"""Making a token for an orchestrator or for an agent. It is shown in the answer to the form and never again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from apps.accounts.models import Organization
from apps.accounts.selectors import containers_with
from apps.accounts.services.tokens import Issued
from apps.accounts.sessions import principal
from apps.conductor.tokens import issue_service_token, issue_token_for_agent
from apps.console.identity import abilities, holds_anywhere
from apps.console.views.forms import AgentTokenForm, TokenForm
from apps.teams.models import Agent, Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import TikiTakaError
from tikitaka.safety import show_hidden

MANAGE = Permission.TOKENS_MANAGE


@login_required
def new_token(request: HttpRequest) -> HttpResponse:
    """A token for an orchestrator."""
    if not holds_anywhere(request, MANAGE, Organization):
        raise PermissionDenied("manage_tokens: no_grant")
    who = principal(request)
    form = TokenForm(
        request.POST or None,
        organizations=containers_with(who, MANAGE, Organization),
        teams=containers_with(who, MANAGE, Team),
    )

    def issue() -> Issued:
        data = form.cleaned_data
        return issue_service_token(
            actor=who,
            organization=data["organization"],
            name=data["name"],
            scopes={Permission(scope) for scope in data["scopes"]},
            days=data["days"],
            teams=[team.pk for team in data["teams"]] or None,
        )

    return _answer(request, form, issue, "an orchestrator", agents=_agents(who))


@login_required
def new_agent_token(request: HttpRequest, agent: UUID) -> HttpResponse:
    """A token as which one agent speaks over MCP."""
    who = principal(request)
    found = Agent.objects.select_related("organization").filter(
        pk=agent, team__in=containers_with(who, Permission.ORGANIZATION_VIEW, Team)
    )
    row = found.first()
    if row is None:
        raise Http404
    if not containers_with(who, MANAGE, Team).filter(pk=row.team_id).exists():
        raise PermissionDenied("manage_tokens: no_grant")
    form = AgentTokenForm(request.POST or None)

    def issue() -> Issued:
        data = form.cleaned_data
        return issue_token_for_agent(actor=who, agent=row, name=data["name"], days=data["days"])

    return _answer(request, form, issue, show_hidden(row.name))


def _agents(who: Principal) -> list[dict[str, object]]:
    """The agents for which the person may make a token."""
    rows = Agent.objects.filter(team__in=containers_with(who, MANAGE, Team), retired_at=None, team__archived_at=None)
    return [
        {"pk": row.pk, "shown": show_hidden(f"{row.name} of {row.team.name}")}
        for row in rows.select_related("team").order_by("team__name", "position")
    ]


def _answer(
    request: HttpRequest,
    form: AgentTokenForm,
    issue: Callable[[], Issued],
    holder: str,
    agents: Sequence[dict[str, object]] = (),
) -> HttpResponse:
    issued = None
    if request.method == "POST" and form.is_valid():
        try:
            issued = issue()
        except TikiTakaError as error:
            form.refuse(error)
    context = {"form": form, "can": abilities(request), "issued": issued, "holder": holder, "agents": agents}
    response = render(request, "console/token_new.html", context, status=400 if form.errors else 200)
    response["Cache-Control"] = "no-store"
    return response
