"""A team goes to another host. People copy its folders; this says where they lie from now on."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from apps.accounts.services.authorize import authorize
from apps.conductor.preparation import report_drift
from apps.conductor.wake import wake
from apps.ledger import clock
from apps.ledger.services import recording
from apps.memory.models import Landing, LandingStatus, Note
from apps.memory.selectors import removable_landings
from apps.memory.services.landing.reconcile import Drifted, reconcile_agent
from apps.tasks.models import AgentLease, Attempt, AttemptStatus
from apps.tasks.services.log import lock_scheduler
from apps.teams.hosts import require_here
from apps.teams.models import Agent, Team, Workspace
from apps.teams.selectors import active_agents, code_folder, is_paused, workspace_at
from apps.teams.services.teams import bind_team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import WrongState


class TeamNotPaused(WrongState):
    """The team, or its organization, must be paused first: nothing may begin while its folders are copied."""

    code = "team_not_paused"


class TeamHasWork(WrongState):
    """Something of the team still runs, lands or is being taken out of a file; wait until it has ended."""

    code = "team_has_work"


class FoldersMissing(WrongState):
    """The team's folders are not all here; copy them into this host's workspace root first."""

    code = "folders_missing"


def move_team(*, actor: Principal, team: Team, host: str) -> list[Drifted]:
    """Binds a team to this very host, onto which its folders were copied; what of them differs from the record.

    Refused for any other host: only here can be seen that the folders arrived.
    """
    authorize(actor, Permission.TEAMS_MANAGE, team, organization=team.organization_id, object_id=team.pk)
    require_here(host)
    if not _folders_are_here(team):
        raise FoldersMissing
    with recording(team.organization_id, actor=actor.actor) as ledger:
        lock_scheduler(team.pk)
        locked = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        list(Agent.objects.select_for_update(no_key=True).filter(team=team).order_by("pk"))
        if locked.host == host:
            raise WrongState("the team lies on this host already")
        if not is_paused(locked):
            raise TeamNotPaused
        if _has_work(team):
            raise TeamHasWork
        bind_team(team=locked, host=host, ledger=ledger)
    wake("dispatch", team.pk)
    return _compare(active_agents(team.pk))


def _folders_are_here(team: Team) -> bool:
    """Those of everybody who ever had any; an agent that was never rendered gets them here."""
    rows = Workspace.objects.filter(agent__team=team).exclude(rendered_digest="")
    made = list(rows.values_list("path", flat=True))
    missing = [path for path in made if not workspace_at(path).is_dir()]
    return not missing and (code_folder(team).is_dir() or not made)


def _has_work(team: Team) -> bool:
    """Asked under the locks of claiming and of landing, so that nothing begins between the answer and the move."""
    running = AgentLease.objects.filter(team_id=team.pk).exists()
    unended = Attempt.objects.filter(task__team=team, status=AttemptStatus.RUNNING).exists()
    landing = Landing.objects.filter(note__team=team, status=LandingStatus.INTENDED).exists()
    removing = removable_landings().filter(note__team=team).exists()
    claimed = Note.objects.filter(team=team, landing_until__gt=clock.now()).exists()
    return running or unended or landing or removing or claimed


def _compare(agents: Iterable[Agent]) -> list[Drifted]:
    found: list[Drifted] = []
    for agent in agents:
        drifted = reconcile_agent(agent=agent.pk, policy=settings.TIKITAKA_POLICY)
        report_drift(agent.organization_id, agent.team_id, drifted)
        found += drifted
    return found
