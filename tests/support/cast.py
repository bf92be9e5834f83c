"""Two organizations that must not know of each other, made through the services of the product."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from apps.accounts.models import Organization, User
from apps.accounts.selectors import principal_of
from apps.accounts.services.members import set_role
from apps.accounts.services.organizations import found_organization
from apps.conductor.teams import register_agent
from apps.teams.models import Agent, Team
from apps.teams.selectors import workspace_folder, workspace_of
from apps.teams.services.teams import create_team
from tikitaka.authz import Principal, Role

TALKER = str(Path(__file__).with_name("talker.py"))
PROFILES = (
    ("Security", "reviews secrets tokens permissions", "check settings and environment values"),
    ("Backend", "builds server endpoints", "api database validation integration"),
    ("Frontend", "builds web forms", "components styling browser"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """`stranger` is owner of `other`, an organization with a team of its own."""

    organization: Organization
    team: Team
    agents: dict[str, Agent]
    owner: Principal
    reviewer: Principal
    operator: Principal
    auditor: Principal
    other: Organization
    other_team: Team
    stranger: Principal

    def folder(self, agent: str) -> Path:
        return workspace_folder(workspace_of(self.agents[agent].pk))

    def user(self, principal: Principal) -> User:
        return User.objects.get(pk=principal.id)


def person(name: str) -> tuple[User, Principal]:
    user = User.objects.create_user(username=name, password="not-a-secret-" + name, is_staff=True)
    return user, principal_of(user, {"methods": ["password"]})


def assemble(*, width: int = 4) -> Cast:
    """Founds both organizations."""
    owner_user, owner = person("owner")
    organization = found_organization(actor=owner, name="Alpha", owner=owner_user)
    principals = {}
    for role in (Role.REVIEWER, Role.OPERATOR, Role.AUDITOR):
        user, principals[role] = person(role.value)
        set_role(actor=owner, organization=organization, user=user, role=role)
    team = create_team(actor=principals[Role.OPERATOR], organization=organization, name="Core", width=width)
    agents = {name.lower(): add_agent(principals[Role.OPERATOR], team, name, d, i) for name, d, i in PROFILES}
    stranger_user, stranger = person("stranger")
    other = found_organization(actor=stranger, name="Beta", owner=stranger_user)
    other_team = create_team(actor=stranger, organization=other, name="Core")
    for name, description, instructions in PROFILES[:2]:
        add_agent(stranger, other_team, name, description, instructions)
    return Cast(
        organization=organization,
        team=team,
        agents=agents,
        owner=owner,
        reviewer=principals[Role.REVIEWER],
        operator=principals[Role.OPERATOR],
        auditor=principals[Role.AUDITOR],
        other=other,
        other_team=other_team,
        stranger=stranger,
    )


def add_agent(actor: Principal, team: Team, name: str, description: str = "", instructions: str = "", **more) -> Agent:
    return register_agent(
        actor=actor,
        team=team,
        name=name,
        description=description,
        instructions=instructions,
        command=[sys.executable, TALKER],
        **more,
    )
