"""Cancelling, resuming, and leases whose holder died."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.accounts.services.authorize import authorize
from apps.ledger import clock
from apps.ledger.services import recording
from apps.tasks.graphs import RunningTask, node_states
from apps.tasks.models import AgentLease, PlanNode, Task, TaskStatus
from apps.tasks.selectors import TERMINAL, running_attempts
from apps.tasks.services.claim import claim_of
from apps.tasks.services.finish import Ended, finish_attempts, settle_tasks
from apps.tasks.services.log import lock_scheduler
from apps.tasks.services.plan import refuse_retired
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import WrongState
from tikitaka.ledger.events import TaskCancelled, TaskResumed
from tikitaka.policy import Policy
from tikitaka.ports import RunEnd
from tikitaka.scheduling.graph import NodeStatus


class NotResumable(WrongState):
    """Only a partial, failed or cancelled task with unfinished nodes can be resumed."""

    code = "not_resumable"


class TeamArchived(WrongState):
    """An archived team takes no work."""

    code = "team_archived"


class TextRemoved(WrongState):
    """What was said in this thread of work is no longer kept, so nobody could be shown it; submit the task anew."""

    code = "text_removed"


class ImportedTask(WrongState):
    """The work was done elsewhere; what is kept of it here is a record, not an order."""

    code = "imported_task"


def cancel_task(*, actor: Principal, task: Task) -> tuple[UUID, ...]:
    """Asks a task to stop and returns its attempts that still run; their holders kill them and report.

    Leases and locks stay with an attempt until no process of it is left, so that nothing else enters its tree before.
    """
    authorize(actor, Permission.TASK_RUN, task.team, organization=task.organization_id, object_id=task.pk)

    with recording(task.organization_id, actor=actor.actor) as ledger:
        lock_scheduler(task.team_id)
        now = clock.now()
        open_task = Task.objects.filter(pk=task.pk, cancel_requested_at__isnull=True).exclude(status__in=TERMINAL)
        if not open_task.update(cancel_requested_at=now):
            raise WrongState("the task has ended already or is being cancelled")
        PlanNode.objects.filter(task=task, status=NodeStatus.QUEUED.value).update(
            status=NodeStatus.CANCELLED.value, finished_at=now
        )
        running = tuple(running_attempts(task.pk).values_list("pk", flat=True))
        ledger.record(TaskCancelled(task=task.pk, team=task.team_id))
        if not running:
            graph = node_states([task.pk]).ask().get(task.pk)
            if graph:
                ending = RunningTask(nodes=graph, cancelling=True, in_segment=task.segment_id is not None)
                settle_tasks({task.pk: ending}, team=task.team_id, ledger=ledger, now=now)
            else:
                Task.objects.filter(pk=task.pk).update(status=TaskStatus.CANCELLED, settled_at=now)
    return running


def resume_task(*, actor: Principal, task: Task, node: UUID | None = None) -> int:
    """Clears attempts and reasons of what did not finish and queues it again; how many nodes. Finished work stays.

    With `node` only that one and what it blocked; what else failed stays failed.
    """
    authorize(actor, Permission.TASK_RUN, task.team, organization=task.organization_id, object_id=task.pk)

    with recording(task.organization_id, actor=actor.actor) as ledger:
        lock_scheduler(task.team_id)
        current = Task.objects.select_for_update().get(pk=task.pk)
        unfinished = PlanNode.objects.filter(
            task=task, status__in=[NodeStatus.FAILED.value, NodeStatus.CANCELLED.value]
        )
        if node is not None:
            unfinished = unfinished.filter(Q(pk=node) | Q(blocked_by=node))
        planned = task.nodes.exists()
        resumable = (TaskStatus.PARTIAL, TaskStatus.FAILED, TaskStatus.CANCELLED)
        if current.status not in resumable or (planned and not unfinished.exists()):
            raise NotResumable
        _refuse_what_must_not_run(current, unfinished)
        count = unfinished.update(
            status=NodeStatus.QUEUED.value,
            attempts=0,
            blocked_by=None,
            started_at=None,
            finished_at=None,
        )
        Task.objects.filter(pk=task.pk).update(
            status=TaskStatus.RUNNING if planned else TaskStatus.QUEUED,
            cancel_requested_at=None,
            settled_at=None,
        )
        ledger.record(TaskResumed(task=task.pk, team=task.team_id, nodes=count))
    return count


def _refuse_what_must_not_run(task: Task, unfinished: QuerySet[PlanNode]) -> None:
    """A task may be resumed long after it ended; its team and its agents may have ended meanwhile."""
    if task.source_id is not None:
        raise ImportedTask
    if Task.objects.filter(segment_id=task.segment_id, segment_id__isnull=False, pruned_at__isnull=False).exists():
        raise TextRemoved
    if Team.objects.select_for_update(no_key=True).get(pk=task.team_id).archived_at is not None:
        raise TeamArchived
    refuse_retired(set(unfinished.values_list("agent_id", flat=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """What ending expired leases led to: the team to look at again, and the tasks that settled."""

    organization: UUID
    team: UUID
    settled_tasks: tuple[UUID, ...]


def end_expired(*, policy: Policy) -> list[Expired]:
    """Attempts whose lease ran out end as interrupted; that counts as an attempt, so a crash loop ends."""
    leases = AgentLease.objects.filter(expires_at__lt=clock.now()).select_related("attempt__node", "team")
    by_team: dict[tuple[UUID, UUID], list[Ended]] = {}
    for lease in leases:
        attempt = lease.attempt
        claimed = claim_of(attempt, team=lease.team_id)
        end = RunEnd(answer=None, error="interrupted", detail="the process that ran it is gone")
        by_team.setdefault((attempt.organization_id, lease.team_id), []).append(Ended(claimed=claimed, end=end))
    return [
        Expired(
            organization=organization,
            team=team,
            settled_tasks=finish_attempts(
                organization=organization, team=team, ends=ends, policy=policy, only_expired=True
            ).settled_tasks,
        )
        for (organization, team), ends in by_team.items()
    ]
