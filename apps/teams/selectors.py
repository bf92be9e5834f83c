"""Teams and agents, and the only ways to them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db.models import F, QuerySet

from apps.accounts.selectors import containers_with
from apps.ledger.queries import Query, Rows
from apps.ledger.rows import equal, led
from apps.ledger.sql import as_uuid, fetch, for_update
from apps.teams.hosts import require_here
from apps.teams.models import EXTERNAL, Agent, Team, Workspace
from tikitaka.authz import Permission, Principal
from tikitaka.errors import NotFound
from tikitaka.routing.profiles import AgentProfile


def access_team(actor: Principal, team: UUID, permission: Permission) -> Team:
    """The team; absent and forbidden give the same NotFound."""
    found = containers_with(actor, permission, Team).select_related("organization").filter(pk=team).first()
    if found is None:
        raise NotFound("no such team")
    result: Team = found
    return result


def active_agents(team: UUID) -> QuerySet[Agent]:
    """The agents of a team that are not retired, in roster order."""
    return Agent.objects.filter(team_id=team, retired_at__isnull=True).order_by("position")


def active_count(team: UUID) -> Query[int]:
    """How many agents of a team are not retired."""
    return Query(
        "SELECT COUNT(*) FROM teams_agent WHERE team_id = %s AND retired_at IS NULL", [team], lambda rows: rows[0][0]
    )


def locked_open(team: UUID) -> Query[bool]:
    """Whether a team is not archived; its row is locked against whoever archives it until the transaction ends."""
    statement = f"SELECT 1 FROM teams_team WHERE id = %s AND archived_at IS NULL{for_update(no_key=True)}"  # noqa: S608
    return Query(statement, [team], bool)


def team_agents(team: UUID) -> dict[UUID, bool]:
    """Every agent of the team and whether it is active."""
    rows = fetch("SELECT id, retired_at FROM teams_agent WHERE team_id = %s", [team])
    return {as_uuid(agent): retired_at is None for agent, retired_at in rows}


def is_paused(team: Team) -> bool:
    """True while the stop switch of the team or of its organization is on, or the team is archived."""
    return bool(team.paused_at or team.archived_at or team.organization.paused_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What dispatching needs to know of a team."""

    organization: UUID
    width: int
    paused: bool
    host: str


def gate(team: UUID) -> Query[Gate]:
    """Width, stop switches and host of a team."""
    return Query(
        "SELECT t.organization_id, t.width, t.host, t.paused_at, t.archived_at, o.paused_at FROM teams_team t"
        " JOIN accounts_organization o ON o.id = t.organization_id WHERE t.id = %s",
        [team],
        _gate,
    )


def external_agents(team: UUID) -> Query[frozenset[UUID]]:
    """The agents of a team that an orchestrator of somebody else runs."""
    return Query(
        "SELECT id FROM teams_agent WHERE team_id = %s AND runtime = %s",
        [team, EXTERNAL],
        lambda rows: frozenset(as_uuid(agent) for (agent,) in rows),
    )


def _gate(rows: Rows) -> Gate:
    organization, width, host, *switches = rows[0]
    return Gate(organization=as_uuid(organization), width=width, paused=any(switches), host=host)


def profile(agent: Agent) -> AgentProfile:
    """The agent as recognition sees it."""
    return AgentProfile(
        key=str(agent.pk), name=agent.name, description=agent.description, instructions=agent.instructions
    )


def profile_digest(name: str, description: str, instructions: str) -> str:
    """Names one state of an agent's profile in the ledger."""
    return hashlib.sha256("\x00".join([name, description, instructions]).encode()).hexdigest()


def workspace_of(agent: UUID) -> Workspace:
    """The agent's workspace row, with the team that says on which host it lies."""
    found = led(Workspace, equal("agent_id", agent), "agent__team").ask()
    if not found:
        raise Workspace.DoesNotExist
    return found[0]


def workspace_folder(workspace: Workspace) -> Path:
    """Where the workspace lies on this machine; refused where it lies on another."""
    require_here(workspace.agent.team.host)
    return workspace_at(workspace.path)


def unrendered_agents() -> QuerySet[Agent]:
    """Active agents whose folders or instructions file are still to be made from their present profile."""
    rows = Agent.objects.filter(retired_at__isnull=True, team__archived_at__isnull=True, workspace__isnull=False)
    return rows.exclude(workspace__rendered_digest=F("profile_digest")).order_by("pk")


def home_folder(workspace: Workspace) -> Path:
    """The agent's own HOME, beside the workspace and never inside it."""
    return home_at(workspace.path)


def workspace_at(path: str) -> Path:
    """The workspace folder of a workspace row's path."""
    return Path(settings.TIKITAKA_WORKSPACES) / path / "workspace"


def home_at(path: str) -> Path:
    """The home folder of a workspace row's path."""
    return Path(settings.TIKITAKA_WORKSPACES) / path / "home"


def code_folder(team: Team) -> Path:
    """The team's shared code tree."""
    return Path(settings.TIKITAKA_WORKSPACES) / str(team.organization_id) / str(team.pk) / "code"
