"""Organizations, teams, agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tikitaka.client.calls import Call, Id, get, given, keyed, post
from tikitaka.client.reading import Page, one, page
from tikitaka.client.records.work import Agent, Budget, Member, Organization, Team

Order = Literal["asc", "desc"]


def pages(limit: int | None, order: Order | None, cursor: str | None, **more: object) -> dict[str, object]:
    """The parameters of a list."""
    return {"limit": limit, "order": order, "cursor": cursor, **more}


def list_organizations(
    *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Organization]]:
    """The one that the token belongs to."""
    return get("list_organizations", "/api/v1/organizations", page(Organization), query=pages(limit, order, cursor))


def get_organization(organization: Id) -> Call[Organization]:
    return get("get_organization", "/api/v1/organizations/{organization}", one(Organization), organization=organization)


def pause_organization(organization: Id) -> Call[Organization]:
    """The stop switch: nothing is dispatched, lands or is granted while it is on."""
    path = "/api/v1/organizations/{organization}/pause"
    return post("pause_organization", path, one(Organization), organization=organization)


def resume_organization(organization: Id) -> Call[Organization]:
    path = "/api/v1/organizations/{organization}/resume"
    return post("resume_organization", path, one(Organization), organization=organization)


def list_members(
    *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Member]]:
    """Who belongs to the organization, and in which role."""
    return get("list_members", "/api/v1/members", page(Member), query=pages(limit, order, cursor))


def list_budgets(
    *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Budget]]:
    """What the organization, its teams and tasks may spend and have spent."""
    return get("list_budgets", "/api/v1/budgets", page(Budget), query=pages(limit, order, cursor))


def list_teams(*, limit: int | None = None, order: Order | None = None, cursor: str | None = None) -> Call[Page[Team]]:
    """The teams that the token reaches."""
    return get("list_teams", "/api/v1/teams", page(Team), query=pages(limit, order, cursor))


def get_team(team: Id) -> Call[Team]:
    return get("get_team", "/api/v1/teams/{team}", one(Team), team=team)


def create_team(
    organization: Id,
    *,
    name: str,
    description: str | None = None,
    work_areas: Mapping[str, Sequence[str]] | None = None,
    width: int | None = None,
    key: str | None = None,
) -> Call[Team]:
    """A team without agents yet."""
    body = given(organization=organization, name=name, description=description, work_areas=work_areas, width=width)
    return keyed(post("create_team", "/api/v1/teams", one(Team), body=body), key)


def pause_team(team: Id) -> Call[Team]:
    """The team's stop switch."""
    return post("pause_team", "/api/v1/teams/{team}/pause", one(Team), team=team)


def resume_team(team: Id) -> Call[Team]:
    return post("resume_team", "/api/v1/teams/{team}/resume", one(Team), team=team)


def archive_team(team: Id) -> Call[Team]:
    """The end of a team: what its agents hold is taken back."""
    return post("archive_team", "/api/v1/teams/{team}/archive", one(Team), team=team)


def list_agents(
    *, team: Id | None = None, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Agent]]:
    return get("list_agents", "/api/v1/agents", page(Agent), query=pages(limit, order, cursor, team=team))


def register_agent(
    team: Id,
    *,
    name: str,
    description: str | None = None,
    instructions: str | None = None,
    runtime: Literal["external"] | None = None,
    remembers: bool | None = None,
    workspace: Literal["here", "remote"] | None = None,
    key: str | None = None,
) -> Call[Agent]:
    """A new external agent; its nodes are handed out by `lease_node`."""
    body = given(name=name, description=description, instructions=instructions, runtime=runtime)
    body |= given(remembers=remembers, workspace=workspace)
    return keyed(post("register_agent", "/api/v1/teams/{team}/agents", one(Agent), body=body, team=team), key)


def get_agent(agent: Id) -> Call[Agent]:
    return get("get_agent", "/api/v1/agents/{agent}", one(Agent), agent=agent)


def change_agent(agent: Id, *, description: str, instructions: str) -> Call[Agent]:
    """A new profile, whole: doing it twice changes nothing more."""
    body = given(description=description, instructions=instructions)
    call = post("change_agent", "/api/v1/agents/{agent}", one(Agent), body=body, agent=agent)
    return replace(call, method="PUT", repeat=True)


def retire_agent(agent: Id) -> Call[Agent]:
    """The agent runs no more, and everything that it holds is taken back."""
    return post("retire_agent", "/api/v1/agents/{agent}/retire", one(Agent), agent=agent)
