"""Reading tasks, graphs and the team's log."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from apps.accounts.selectors import containers_with
from apps.ledger.services.append import database_uuid
from apps.tasks.models import Attempt, AttemptStatus, Task, TaskStatus, ThreadCursor
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.context.window import LogLine
from tikitaka.errors import NotFound

TERMINAL = (TaskStatus.COMPLETED, TaskStatus.PARTIAL, TaskStatus.FAILED, TaskStatus.CANCELLED)


def access_task(actor: Principal, task: UUID, permission: Permission) -> Task:
    """The task of a team on which the permission is held; absent and forbidden give the same NotFound."""
    teams = containers_with(actor, permission, Team)
    found = Task.objects.select_related("team__organization").filter(pk=task, team__in=teams).first()
    if found is None:
        raise NotFound("no such task")
    return found


def log_lines(tasks: Sequence[UUID]) -> list[LogLine]:
    """The messages of some tasks in the order of the team's log, without imported instructions.

    Hand-written, because every attempt reads the whole thread of work.
    """
    if not tasks:
        return []
    marks = ", ".join(["%s"] * len(tasks))
    with connection.cursor() as cursor:
        cursor.execute(  # only marks are put into the statement
            "SELECT m.id, m.seq, a.name, m.agent_id, m.node_id, n.role, m.text FROM tasks_message m"
            " LEFT JOIN teams_agent a ON a.id = m.agent_id LEFT JOIN tasks_plannode n ON n.id = m.node_id"
            f" WHERE m.task_id IN ({marks}) AND NOT m.injected ORDER BY m.seq",
            [database_uuid(task) for task in tasks],
        )
        rows = cursor.fetchall()
    return [
        LogLine(
            id=_uuid(pk),
            seq=seq,
            speaker=name or "A person",
            agent=_uuid(agent) if agent else None,
            node=_uuid(node) if node else None,
            role=role or "",
            text=text,
        )
        for pk, seq, name, agent, node, role, text in rows
    ]


def _uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def live_cursor(agent: UUID) -> ThreadCursor | None:
    """The newest thread of the agent that may be continued."""
    return ThreadCursor.objects.filter(agent_id=agent, closed_at__isnull=True).order_by("-updated_at").first()


def last_attempts(task: UUID) -> QuerySet[Attempt]:
    """All attempts of a task in order of their start."""
    return Attempt.objects.filter(task_id=task).select_related("agent", "node").order_by("started_at", "id")


def running_attempts(task: UUID) -> QuerySet[Attempt]:
    """The attempts of a task that are under way."""
    return Attempt.objects.filter(task_id=task, status=AttemptStatus.RUNNING)
