"""Organizations, teams, agents."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Membership, Organization
from apps.api.idempotency import once
from apps.api.reading import Rows
from apps.api.shapes.base import Nothing, PageQuery
from apps.api.shapes.work import (
    AgentChange,
    AgentShape,
    BudgetShape,
    MemberShape,
    NewAgent,
    NewTeam,
    OrganizationShape,
    TeamQuery,
    TeamShape,
)
from apps.api.views.base import KEY, Door, page_of
from apps.conductor import teams
from apps.tasks.models import Budget
from apps.teams.models import Agent, Team
from apps.teams.services.teams import create_team
from tikitaka.authz import Permission


class Organizations(Door):
    names: ClassVar = {"GET": "list_organizations"}

    @extend_schema(parameters=[PageQuery], responses=page_of(OrganizationShape))
    def get(self, request: Request) -> Response:
        """Those that you belong to. A token belongs to one, whatever it may do there."""
        rows = self.rows(Organization, path="pk")
        if self.actor.grant is not None:
            rows = Rows(Organization).where(id=self.actor.grant.organization)
        return self.page(rows, OrganizationShape)


class OneOrganization(Door):
    names: ClassVar = {"GET": "get_organization"}

    @extend_schema(responses=OrganizationShape)
    def get(self, request: Request, organization: UUID) -> Response:
        """One organization."""
        grant = self.actor.grant
        if grant is None or grant.organization != organization:
            return Response(self.found(Organization, organization, OrganizationShape, path="pk"))
        return Response(self.shown(Organization, organization, OrganizationShape))


class OrganizationSwitch(Door):
    """The stop switch: nothing is dispatched, lands or is granted while it is on."""

    paused = True
    names: ClassVar = {"POST": "pause_organization"}

    @extend_schema(request=Nothing, responses=OrganizationShape)
    def post(self, request: Request, organization: UUID) -> Response:
        Nothing.read(request)
        self.reach(Organization, organization, Permission.WORK_PAUSE, path="pk")
        teams.pause(actor=self.actor, organization=organization, paused=self.paused)
        return Response(self.shown(Organization, organization, OrganizationShape))


class OrganizationGoesOn(OrganizationSwitch):
    """What waited is dispatched and landed."""

    paused = False
    names: ClassVar = {"POST": "resume_organization"}


class Teams(Door):
    names: ClassVar = {"GET": "list_teams", "POST": "create_team"}

    @extend_schema(parameters=[PageQuery], responses=page_of(TeamShape))
    def get(self, request: Request) -> Response:
        """The teams that you see."""
        return self.page(self.rows(Team), TeamShape)

    @extend_schema(request=NewTeam, responses={201: TeamShape}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        """A team without agents yet; names that differ only by case, blanks or dots collide."""
        asked = NewTeam.read(request)
        organization = self.reach(Organization, asked.pop("organization"), Permission.TEAMS_MANAGE, path="pk")

        def act() -> Response:
            team = create_team(actor=self.actor, organization=organization, **asked)
            return Response(self.shown(Team, team.pk, TeamShape), status=201)

        return once(request, act)


class OneTeam(Door):
    names: ClassVar = {"GET": "get_team"}

    @extend_schema(responses=TeamShape)
    def get(self, request: Request, team: UUID) -> Response:
        """One team."""
        return Response(self.found(Team, team, TeamShape))


class TeamSwitch(Door):
    """The team's stop switch. Setting it twice changes nothing."""

    paused = True
    names: ClassVar = {"POST": "pause_team"}

    @extend_schema(request=Nothing, responses=TeamShape)
    def post(self, request: Request, team: UUID) -> Response:
        Nothing.read(request)
        found = self.reach(Team, team, Permission.WORK_PAUSE)
        teams.pause_team(actor=self.actor, team=found, paused=self.paused)
        return Response(self.shown(Team, team, TeamShape))


class TeamGoesOn(TeamSwitch):
    """What waited is dispatched and landed."""

    paused = False
    names: ClassVar = {"POST": "resume_team"}


class TeamArchive(Door):
    names: ClassVar = {"POST": "archive_team"}

    @extend_schema(request=Nothing, responses=TeamShape)
    def post(self, request: Request, team: UUID) -> Response:
        """The end of a team: what its agents hold is taken back, nothing of it runs or lands any more."""
        Nothing.read(request)
        found = self.reach(Team, team, Permission.TEAMS_MANAGE, select="organization")
        teams.archive_team(actor=self.actor, team=found)
        return Response(self.shown(Team, team, TeamShape))


class Members(Door):
    names: ClassVar = {"GET": "list_members"}

    @extend_schema(parameters=[PageQuery], responses=page_of(MemberShape))
    def get(self, request: Request) -> Response:
        """Who belongs to your organizations, and in which role. A token for some teams sees nobody."""
        return self.page(self.rows(Membership, path="organization"), MemberShape)


class Budgets(Door):
    names: ClassVar = {"GET": "list_budgets"}

    @extend_schema(parameters=[PageQuery], responses=page_of(BudgetShape))
    def get(self, request: Request) -> Response:
        """What your organizations, their teams and tasks may spend and have spent. A token for some teams sees none."""
        return self.page(self.rows(Budget, path="organization"), BudgetShape)


class Agents(Door):
    names: ClassVar = {"GET": "list_agents"}

    @extend_schema(parameters=[PageQuery, TeamQuery], responses=page_of(AgentShape))
    def get(self, request: Request) -> Response:
        """The agents of your teams, or of one of them."""
        return self.page(self.rows(Agent).where(**TeamQuery.of(request)), AgentShape, TeamQuery)


class TeamAgents(Door):
    names: ClassVar = {"POST": "register_agent"}

    @extend_schema(request=NewAgent, responses={201: AgentShape}, parameters=[KEY])
    def post(self, request: Request, team: UUID) -> Response:
        """A new agent with its own workspace; its nodes are handed out by `POST /nodes/lease`."""
        asked: dict[str, Any] = NewAgent.read(request)
        found = self.reach(Team, team, Permission.TEAMS_MANAGE)

        def act() -> Response:
            delivery = asked.pop("workspace")
            agent = teams.register_agent(actor=self.actor, team=found, delivery=delivery, **asked)
            return Response(self.shown(Agent, agent.pk, AgentShape), status=201)

        return once(request, act)


class OneAgent(Door):
    names: ClassVar = {"GET": "get_agent", "PUT": "change_agent"}

    @extend_schema(responses=AgentShape)
    def get(self, request: Request, agent: UUID) -> Response:
        """One agent."""
        return Response(self.found(Agent, agent, AgentShape))

    @extend_schema(request=AgentChange, responses=AgentShape)
    def put(self, request: Request, agent: UUID) -> Response:
        """A new profile; its instructions file is rendered anew with every governed block in it."""
        asked = AgentChange.read(request)
        found = self.reach(Agent, agent, Permission.TEAMS_MANAGE, select="team")
        teams.change_agent(actor=self.actor, agent=found, **asked)
        return Response(self.shown(Agent, agent, AgentShape))


class AgentRetirement(Door):
    names: ClassVar = {"POST": "retire_agent"}

    @extend_schema(request=Nothing, responses=AgentShape)
    def post(self, request: Request, agent: UUID) -> Response:
        """The agent runs no more, and everything that it holds is taken back."""
        Nothing.read(request)
        found = self.reach(Agent, agent, Permission.TEAMS_MANAGE, select="team")
        teams.retire_agent(actor=self.actor, agent=found)
        return Response(self.shown(Agent, agent, AgentShape))
