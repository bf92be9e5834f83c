"""Reading tasks, graphs and the team's log."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.selectors import containers_with
from apps.tasks.models import Attempt, AttemptStatus, Message, PlanNode, Task, TaskStatus, ThreadCursor
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.context.window import LogLine
from tikitaka.errors import NotFound
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.locks import lock_prefixes

TERMINAL = (TaskStatus.COMPLETED, TaskStatus.PARTIAL, TaskStatus.FAILED, TaskStatus.CANCELLED)


def access_task(actor: Principal, task: UUID, permission: Permission) -> Task:
    """The task of a team on which the permission is held; absent and forbidden give the same NotFound."""
    teams = containers_with(actor, permission, Team)
    found = Task.objects.select_related("team__organization").filter(pk=task, team__in=teams).first()
    if found is None:
        raise NotFound("no such task")
    return found


def node_states(tasks: Collection[UUID]) -> dict[UUID, list[NodeState]]:
    """The graphs of some tasks as the rules see them, each in plan order."""
    rows = PlanNode.objects.filter(task__in=tasks).order_by("task", "index")
    graphs: dict[UUID, list[NodeState]] = {task: [] for task in tasks}
    for pk, task, index, agent, status, depends_on, globs, attempts in rows.values_list(
        "pk", "task_id", "index", "agent_id", "status", "depends_on", "globs", "attempts"
    ):
        graphs[task].append(
            NodeState(
                id=pk,
                index=index,
                agent=agent,
                status=NodeStatus(status),
                depends_on=tuple(depends_on),
                prefixes=lock_prefixes(globs),
                attempts=attempts,
            )
        )
    return graphs


def log_lines(tasks: Collection[UUID]) -> list[LogLine]:
    """The messages of some tasks in the order of the team's log, without imported instructions."""
    rows = Message.objects.filter(task__in=tasks, injected=False).select_related("agent").order_by("seq")
    return [
        LogLine(
            id=row.pk,
            seq=row.seq,
            speaker=row.agent.name if row.agent else "A person",
            agent=row.agent_id,
            node=row.node_id,
            text=row.text,
        )
        for row in rows
    ]


def live_cursor(agent: UUID) -> ThreadCursor | None:
    """The newest thread of the agent that may be continued."""
    return ThreadCursor.objects.filter(agent_id=agent, closed_at__isnull=True).order_by("-updated_at").first()


def last_attempts(task: UUID) -> QuerySet[Attempt]:
    """All attempts of a task in order of their start."""
    return Attempt.objects.filter(task_id=task).select_related("agent", "node").order_by("started_at", "id")


def running_attempts(task: UUID) -> QuerySet[Attempt]:
    """The attempts of a task that are under way."""
    return Attempt.objects.filter(task_id=task, status=AttemptStatus.RUNNING)
