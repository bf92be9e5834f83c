"""Registering, changing and retiring agents."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Max
from django.utils import timezone

from apps.accounts.services.authorize import authorize
from apps.ledger.ids import new_id
from apps.ledger.services import recording
from apps.teams.models import DELIVERIES, EXTERNAL, HERE, RUNTIMES, Agent, Team, Workspace
from apps.teams.selectors import profile_digest
from tikitaka.authz import Permission, Principal
from tikitaka.errors import Invalid, WrongState
from tikitaka.landing.blocks import has_markers
from tikitaka.ledger.events import AgentChanged, AgentRegistered, AgentRetired, WorkspaceBound
from tikitaka.text import name_key, require


class TeamFull(WrongState):
    """The team has as many agents as it may have."""

    code = "team_full"


def register_agent(
    *,
    actor: Principal,
    team: Team,
    name: str,
    description: str = "",
    instructions: str = "",
    runtime: str = "process",
    command: Sequence[str] = (),
    remembers: bool = False,
    delivery: str = HERE,
) -> Agent:
    """A new agent with its own workspace, whose path is made of ids only; conductor has its folders made."""
    authorize(actor, Permission.TEAMS_MANAGE, team, organization=team.organization_id, object_id=team.pk)

    policy = settings.TIKITAKA_POLICY
    name = require("name", name.strip(), limit=policy.name_chars, multiline=False)
    description = require("description", description, limit=policy.description_chars, blank=True)
    instructions = _own_text(instructions, policy.instructions_chars)
    if not name_key(name):
        raise Invalid(name="needs a letter or a digit")
    if runtime not in dict(RUNTIMES):
        raise Invalid(runtime="is not a known runtime")
    if delivery not in dict(DELIVERIES):
        raise Invalid(workspace="is neither here nor remote")
    if delivery != HERE and runtime != EXTERNAL:
        raise Invalid(workspace="of an agent whose program runs here must be here")
    if not all(isinstance(part, str) and "\x00" not in part for part in command):
        raise Invalid(command="must be a list of words")

    try:
        with recording(team.organization_id, actor=actor.actor) as ledger:
            team = Team.objects.select_for_update().get(pk=team.pk, archived_at__isnull=True)
            if Agent.objects.filter(team=team, retired_at__isnull=True).count() >= policy.team_agents_max:
                raise TeamFull
            last = Agent.objects.filter(team=team).aggregate(last=Max("position"))["last"] or 0
            agent = Agent.objects.create(
                id=new_id(),
                organization_id=team.organization_id,
                team=team,
                position=last + 1,
                name=name,
                name_key=name_key(name),
                description=description,
                instructions=instructions,
                runtime=runtime,
                command=list(command),
                remembers=remembers,
                profile_digest=profile_digest(name, description, instructions),
            )
            Workspace.objects.create(
                organization_id=team.organization_id,
                agent=agent,
                path=f"{team.organization_id}/{team.pk}/agents/{agent.pk}",
                delivery=delivery,
            )
            ledger.record(
                AgentRegistered(
                    agent=agent.pk, team=team.pk, profile_digest=agent.profile_digest, runtime=agent.runtime
                ),
                WorkspaceBound(agent=agent.pk, team=team.pk, host=team.host),
            )
    except Team.DoesNotExist as error:
        raise WrongState("the team is archived") from error
    except IntegrityError as error:
        raise Invalid(name="an agent with such a name exists in the team") from error
    return agent


def change_agent(*, actor: Principal, agent: Agent, description: str, instructions: str) -> Agent:
    """A new profile; conductor renders the instructions file anew and keeps every governed block in it."""
    team = agent.team
    authorize(actor, Permission.TEAMS_MANAGE, team, organization=team.organization_id, object_id=agent.pk)

    policy = settings.TIKITAKA_POLICY
    agent.description = require("description", description, limit=policy.description_chars, blank=True)
    agent.instructions = _own_text(instructions, policy.instructions_chars)
    agent.profile_digest = profile_digest(agent.name, agent.description, agent.instructions)

    with recording(team.organization_id, actor=actor.actor) as ledger:
        changed = Agent.objects.filter(pk=agent.pk, retired_at__isnull=True).update(
            description=agent.description, instructions=agent.instructions, profile_digest=agent.profile_digest
        )
        if not changed:
            raise WrongState("the agent is retired")
        ledger.record(AgentChanged(agent=agent.pk, team=team.pk, profile_digest=agent.profile_digest))
    return agent


def retire_agent(*, actor: Principal, agent: Agent) -> Agent:
    """The agent runs no more; conductor.retire_agent revokes what it holds."""
    team = agent.team
    authorize(actor, Permission.TEAMS_MANAGE, team, organization=team.organization_id, object_id=agent.pk)

    with recording(team.organization_id, actor=actor.actor) as ledger:
        if not Agent.objects.filter(pk=agent.pk, retired_at__isnull=True).update(retired_at=timezone.now()):
            raise WrongState("the agent is retired already")
        ledger.record(AgentRetired(agent=agent.pk, team=team.pk))
    agent.refresh_from_db()
    return agent


def _own_text(instructions: str, limit: int) -> str:
    """The agent's own part of its instructions file; a marker of ours in it would make every block there unreadable."""
    text = require("instructions", instructions, limit=limit, blank=True)
    if has_markers(text):
        raise Invalid(instructions="a line looks like the marker of a governed note")
    return text
