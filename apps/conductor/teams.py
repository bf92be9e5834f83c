"""Steps that concern a team or an agent as a whole: registering, changing, pausing, retiring, archiving."""

from __future__ import annotations

from collections.abc import Sequence
from subprocess import SubprocessError
from uuid import UUID

from django.conf import settings

from apps.accounts.models import Organization
from apps.accounts.services.authorize import authorize
from apps.accounts.services.organizations import pause_organization
from apps.conductor.incidents import close_cured, open_incident
from apps.conductor.models import IncidentKind
from apps.conductor.story import wake_removals
from apps.conductor.wake import wake
from apps.ledger import clock
from apps.ledger.services import recording
from apps.memory.selectors import notes_to_land
from apps.memory.services.landing.render import render_agent_instructions, require_fitting
from apps.memory.services.recipients import deny_newcomers
from apps.memory.services.withdraw import withdraw_from_agents
from apps.tasks.models import PlanNode, Task, TaskStatus
from apps.tasks.selectors import TERMINAL
from apps.teams.adapters import make_folders
from apps.teams.hosts import require_here
from apps.teams.models import HERE, Agent, Team, Workspace
from apps.teams.selectors import active_agents
from apps.teams.services import agents as agent_services
from apps.teams.services import teams as team_services
from tikitaka.authz import Permission, Principal
from tikitaka.errors import WrongState
from tikitaka.hosts import WorkspaceElsewhere
from tikitaka.landing.files import INSTRUCTIONS_FILE


class AgentBusy(WrongState):
    """The agent still has work in a running task, or its team is being planned for; finish or cancel that first."""

    code = "agent_busy"


class TeamBusy(WrongState):
    """A task of the team still runs; finish or cancel it first."""

    code = "team_busy"


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
    """A new agent with its workspace and its instructions file; it took no part in the notes that are there.

    With `delivery` remote its own machine keeps a copy of its governed files; the folder here stays their source.
    """
    agent = agent_services.register_agent(
        actor=actor,
        team=team,
        name=name,
        description=description,
        instructions=instructions,
        runtime=runtime,
        command=command,
        remembers=remembers,
        delivery=delivery,
    )
    with recording(agent.organization_id) as ledger:
        deny_newcomers(team=agent.team_id, ledger=ledger)
    _render(agent)
    return agent


def change_agent(*, actor: Principal, agent: Agent, description: str, instructions: str) -> Agent:
    """A new profile; the instructions file is rendered anew with every governed block in it, or nothing changes."""
    authorize(actor, Permission.TEAMS_MANAGE, agent.team, organization=agent.organization_id, object_id=agent.pk)
    with recording(agent.organization_id, actor=actor.actor):
        changed = agent_services.change_agent(
            actor=actor, agent=agent, description=description, instructions=instructions
        )
        require_fitting(agent=changed, policy=settings.TIKITAKA_POLICY)
    _render(changed)
    return changed


def retire_agent(*, actor: Principal, agent: Agent) -> None:
    """The agent runs no more, and everything that it holds is taken back."""
    authorize(actor, Permission.TEAMS_MANAGE, agent.team, organization=agent.organization_id, object_id=agent.pk)
    with recording(agent.organization_id, actor=actor.actor) as ledger:
        Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
        if _has_work(agent):
            raise AgentBusy
        agent_services.retire_agent(actor=actor, agent=agent)
        withdraw_from_agents(agents=[agent.pk], organization=agent.organization_id, ledger=ledger)
    wake_removals()


def _has_work(agent: Agent) -> bool:
    """A planner that thinks was shown the agent and may name it, so its whole team is busy."""
    nodes = PlanNode.objects.filter(agent=agent, status__in=["queued", "running"]).exclude(task__status__in=TERMINAL)
    planning = Task.objects.filter(team=agent.team_id, status=TaskStatus.PLANNING)
    return nodes.exists() or planning.exists()


def archive_team(*, actor: Principal, team: Team) -> None:
    """The end of a team: what its agents hold is taken back, nothing of it runs or lands any more."""
    authorize(actor, Permission.TEAMS_MANAGE, team, organization=team.organization_id, object_id=team.pk)
    with recording(team.organization_id, actor=actor.actor) as ledger:
        Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        if Task.objects.filter(team=team).exclude(status__in=TERMINAL).exists():
            raise TeamBusy
        team_services.archive_team(actor=actor, team=team)
        agents = list(active_agents(team.pk).values_list("pk", flat=True))
        withdraw_from_agents(agents=agents, organization=team.organization_id, ledger=ledger)
    wake_removals()


def pause_team(*, actor: Principal, team: Team, paused: bool) -> None:
    """No dispatch, no landing, no grants while it lasts; afterwards everything that waited goes on."""
    team_services.pause_team(actor=actor, team=team, paused=paused)
    if not paused:
        _go_on([team.pk])


def pause(*, actor: Principal, organization: UUID, paused: bool) -> Organization:
    """The same for a whole organization."""
    found = pause_organization(actor=actor, organization=organization, paused=paused)
    if not paused:
        _go_on(list(Team.objects.filter(organization_id=organization).values_list("pk", flat=True)))
    return found


def _go_on(teams: Sequence[UUID]) -> None:
    for team in teams:
        wake("dispatch", team)
    for note in notes_to_land(clock.now()):
        wake("land", note)


def render(agent: UUID) -> None:
    """Makes the folders and the instructions file of an agent. Refused where they lie on another host."""
    row = Agent.objects.select_related("team", "workspace").get(pk=agent)
    require_here(row.team.host)
    try:
        if not row.workspace.rendered_digest:  # later on a folder that is not there is a disk that is not mounted
            make_folders(row.team, row.workspace)
        fault = render_agent_instructions(agent=agent, policy=settings.TIKITAKA_POLICY)
    except (OSError, SubprocessError) as error:
        fault = f"its folders cannot be made: {type(error).__name__}"
    subject = f"agent {agent} {INSTRUCTIONS_FILE}"
    if fault is None:
        close_cured(organization=row.organization_id, kind=IncidentKind.DRIFT, subject=subject)
    else:
        open_incident(
            organization=row.organization_id,
            team=row.team_id,
            kind=IncidentKind.DRIFT,
            subject=subject,
            detail=fault,
        )


def render_first(agent: UUID) -> None:
    """The same for an agent that is to run before anybody has come to make its folders."""
    if Workspace.objects.filter(agent=agent, rendered_digest="").exists():
        render(agent)


def _render(agent: Agent) -> None:
    """At once where the workspace is; elsewhere its host does it soon."""
    try:
        render(agent.pk)
    except WorkspaceElsewhere:
        wake("render", agent.pk)
