"""Reading tasks, graphs and the team's log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.selectors import containers_with
from apps.ledger.queries import Query, Rows
from apps.ledger.sql import as_uuid, document, marks
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


def thread_lines(tasks: Sequence[UUID]) -> Query[dict[UUID, list[LogLine]]]:
    """The thread of work that each of some tasks belongs to: that of its segment, or its own where no segment owns it.

    By task, since a segment may take a task in between this question and another. Each in the order of the team's log,
    without imported instructions. Hand-written, because every attempt reads them.
    """
    return Query(
        "SELECT t.segment_id, t.id, m.id, m.seq, a.name, m.agent_id, m.node_id, n.role, m.text"
        " FROM tasks_message m JOIN tasks_task t ON t.id = m.task_id"
        " LEFT JOIN teams_agent a ON a.id = m.agent_id LEFT JOIN tasks_plannode n ON n.id = m.node_id"
        f" WHERE m.task_id IN (SELECT id FROM tasks_task WHERE id IN ({marks(tasks)}) UNION"
        " SELECT other.id FROM tasks_task mine JOIN tasks_task other ON other.segment_id = mine.segment_id"
        f" WHERE mine.id IN ({marks(tasks)})) AND NOT m.injected ORDER BY m.seq",
        [*tasks, *tasks],
        _threads,
    )


def _threads(rows: Rows) -> dict[UUID, list[LogLine]]:
    lines: dict[UUID, list[LogLine]] = defaultdict(list)
    threads: dict[UUID, list[LogLine]] = {}
    for segment, task, *line in rows:
        thread = lines[as_uuid(segment or task)]
        thread.append(_log_line(*line))
        threads[as_uuid(task)] = thread
    return threads


def _log_line(pk: Any, seq: int, name: str | None, agent: Any, node: Any, role: str | None, text: str) -> LogLine:
    return LogLine(
        id=str(as_uuid(pk)),
        seq=seq,
        speaker=name or "A person",
        agent=as_uuid(agent) if agent else None,
        node=as_uuid(node) if node else None,
        role=role or "",
        text=text,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """What a claimed node asks for: the node, its task, and the agent that does it in its workspace."""

    node: UUID
    task: UUID
    index: int
    role: str
    instruction: str
    expected_output: str
    work_area: str
    globs: tuple[str, ...]
    writes: bool
    depends_on: tuple[int, ...]
    prompt: str
    first_seq: int
    agent: UUID
    agent_name: str
    runtime: str
    command: tuple[str, ...]
    remembers: bool
    workspace: str


def work_orders(nodes: Sequence[UUID]) -> Query[list[WorkOrder]]:
    """The orders of some nodes."""
    return Query(
        'SELECT n.id, n.task_id, n."index", n.role, n.instruction, n.expected_output, n.work_area, n.globs, n.writes,'
        " n.depends_on, t.prompt, t.first_seq, a.id, a.name, a.runtime, a.command, a.remembers, w.path"
        " FROM tasks_plannode n JOIN tasks_task t ON t.id = n.task_id JOIN teams_agent a ON a.id = n.agent_id"
        f" JOIN teams_workspace w ON w.agent_id = a.id WHERE n.id IN ({marks(nodes)})",
        nodes,
        lambda rows: [_work_order(row) for row in rows],
    )


def _work_order(row: tuple[Any, ...]) -> WorkOrder:
    return WorkOrder(
        node=as_uuid(row[0]),
        task=as_uuid(row[1]),
        index=row[2],
        role=row[3],
        instruction=row[4],
        expected_output=row[5],
        work_area=row[6],
        globs=tuple(document(row[7])),
        writes=bool(row[8]),
        depends_on=tuple(document(row[9])),
        prompt=row[10],
        first_seq=row[11],
        agent=as_uuid(row[12]),
        agent_name=row[13],
        runtime=row[14],
        command=tuple(document(row[15])),
        remembers=bool(row[16]),
        workspace=row[17],
    )


def live_cursor(agent: UUID) -> ThreadCursor | None:
    """The newest thread of the agent that may be continued."""
    return ThreadCursor.objects.filter(agent_id=agent, closed_at__isnull=True).order_by("-updated_at").first()


def running_attempts(task: UUID) -> QuerySet[Attempt]:
    """The attempts of a task that are under way."""
    return Attempt.objects.filter(task_id=task, status=AttemptStatus.RUNNING)
