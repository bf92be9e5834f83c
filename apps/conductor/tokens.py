"""Tokens that are bound to teams, agents and attempts: made for what exists, good while it does."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.conf import settings

from apps.accounts.models import Organization
from apps.accounts.services.tokens import Issued, issue_agent_token, issue_token
from apps.ledger.sql import fetch
from apps.tasks.models import AttemptStatus
from apps.teams.models import Agent, Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import Invalid

# Hand-written: every request of an agent asks one of them.
_RUNS = "SELECT 1 FROM tasks_attempt WHERE id = %s AND agent_id = %s AND status = %s"
_LIVES = (
    "SELECT 1 FROM teams_agent a JOIN teams_team t ON t.id = a.team_id"
    " WHERE a.id = %s AND a.retired_at IS NULL AND t.archived_at IS NULL"
)


def issue_service_token(
    *,
    actor: Principal,
    organization: Organization,
    name: str,
    scopes: Collection[Permission],
    days: int,
    teams: Collection[UUID] | None = None,
) -> Issued:
    """A token for an orchestrator, for some teams of the organization or, with None, for all of them."""
    if teams is not None:
        known = Team.objects.filter(organization=organization, pk__in=teams).count()
        if not teams or known != len(set(teams)):
            raise Invalid(teams="must be teams of the organization")
    return issue_token(
        actor=actor,
        organization=organization,
        name=name,
        scopes=scopes,
        days=days,
        teams=teams,
        policy=settings.TIKITAKA_POLICY,
    )


def issue_token_for_agent(*, actor: Principal, agent: Agent, name: str, days: int) -> Issued:
    """A token as which an agent speaks over MCP."""
    if agent.retired_at is not None:
        raise Invalid(agent="is retired")
    return issue_agent_token(
        actor=actor,
        organization=agent.organization,
        agent=agent.pk,
        team=agent.team_id,
        name=name,
        days=days,
        policy=settings.TIKITAKA_POLICY,
    )


def still_bound(who: Principal) -> bool:
    """False when what a token is bound to has ended: a retired agent, an archived team, an attempt that is over."""
    grant = who.grant
    if grant is None or grant.agent is None:
        return True
    if grant.attempt is not None:
        return bool(fetch(_RUNS, (grant.attempt, grant.agent, AttemptStatus.RUNNING.value)))
    return bool(fetch(_LIVES, (grant.agent,)))
