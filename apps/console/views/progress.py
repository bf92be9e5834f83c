"""The state of a task and its feed, as plain values for page and stream."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.tasks.models import PlanNode, Span, Task
from tikitaka.safety import show_hidden

_LINES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """One node as the picture shows it."""

    index: int
    agent: str
    role: str
    status: str
    depends_on: tuple[int, ...]
    blocked_by: int | None
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A task's status and nodes."""

    status: str
    nodes: tuple[NodeView, ...]

    def as_json(self) -> dict[str, Any]:
        return {"status": self.status, "nodes": [asdict(node) for node in self.nodes]}


def progress(task: UUID) -> Progress:
    """Two queries."""
    rows = PlanNode.objects.filter(task_id=task).select_related("agent", "blocked_by").order_by("index")
    return Progress(
        status=Task.objects.values_list("status", flat=True).get(pk=task),
        nodes=tuple(
            NodeView(
                index=row.index,
                agent=row.agent.name,
                role=row.role,
                status=row.status,
                depends_on=tuple(row.depends_on),
                blocked_by=row.blocked_by.index if row.blocked_by else None,
                attempts=row.attempts,
            )
            for row in rows
        ),
    )


def feed_after(task: UUID, last: str) -> list[dict[str, Any]]:
    """Spans of all attempts after the line `last`, merged by time: numbers start anew in every attempt."""
    rows = Span.objects.filter(attempt__task_id=task).select_related("attempt__agent").order_by("at", "pk")
    moment, key = _position(last)
    if moment is not None:
        rows = rows.filter(Q(at__gt=moment) | Q(at=moment, pk__gt=key))
    return [
        {
            "id": f"{row.at.isoformat()}|{row.pk}",
            "at": row.at.strftime("%H:%M:%S"),
            "agent": row.attempt.agent.name,
            "attempt": row.attempt.number,
            "kind": row.kind,
            "status": row.status,
            "text": show_hidden(row.text),
        }
        for row in rows[:_LINES]
    ]


def _position(last: str) -> tuple[datetime | None, int]:
    moment, _, key = last.partition("|")
    try:
        return datetime.fromisoformat(moment.replace(" ", "+")), int(key)
    except ValueError:
        return None, 0
