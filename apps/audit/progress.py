"""The state of a task and its feed, as plain values for page and stream."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.tasks.models import PlanNode, Span, Task
from tikitaka.retention import removed_after
from tikitaka.safety import show_hidden

LINES = 200
_UNFINISHED = "started"
_POSITION = re.compile(r"([0-9]{1,18})(?:~((?:[0-9]{1,18}\.?){0,64}))?\Z")


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

    @property
    def state(self) -> str:
        """The state in words, with what blocked it."""
        return f"{self.status}, blocked by {self.blocked_by}" if self.blocked_by else self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A task's status and nodes."""

    status: str
    nodes: tuple[NodeView, ...]

    def as_json(self) -> dict[str, Any]:
        nodes = [{**asdict(node), "state": node.state} for node in self.nodes]
        return {"status": self.status, "nodes": nodes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far somebody has read a feed: the last span in the order of storing, and which of those were unfinished.

    Times would not do: of two attempts that run side by side the one with the earlier time may be stored later.
    """

    last: int = 0
    unfinished: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """The beginning where the text is not a position."""
        found = _POSITION.match(text)
        if found is None:
            return cls()
        numbers = [int(part) for part in (found.group(2) or "").split(".") if part]
        return cls(last=int(found.group(1)), unfinished=tuple(numbers))

    def after(self, rows: Iterable[Span]) -> Position:
        """The position once `rows` have been read too."""
        last, unfinished = self.last, set(self.unfinished)
        for row in rows:
            last = max(last, row.pk)
            (unfinished.add if row.status == _UNFINISHED else unfinished.discard)(row.pk)
        return Position(last=last, unfinished=tuple(sorted(unfinished)[-64:]))

    def __str__(self) -> str:
        return f"{self.last}~{'.'.join(map(str, self.unfinished))}" if self.unfinished else str(self.last)


def removed(task: Task) -> str:
    """What stands in the place of a task's words once they are not kept any more; empty before."""
    if task.pruned_at is None or task.settled_at is None:
        return ""
    return removed_after(task.settled_at, task.pruned_at)


def progress(task: UUID) -> Progress:
    """Two queries."""
    rows = PlanNode.objects.filter(task_id=task).select_related("agent", "blocked_by").order_by("index")
    return Progress(
        status=Task.objects.values_list("status", flat=True).get(pk=task),
        nodes=tuple(
            NodeView(
                index=row.index,
                agent=show_hidden(row.agent.name),
                role=show_hidden(row.role),
                status=row.status,
                depends_on=tuple(row.depends_on),
                blocked_by=row.blocked_by.index if row.blocked_by else None,
                attempts=row.attempts,
            )
            for row in rows
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """Some lines by time, how many there are before and after them, and from where a stream goes on."""

    lines: tuple[dict[str, Any], ...]
    earlier: int
    later: int
    first: int
    position: Position


def feed_page(task: UUID, first: int | None) -> FeedPage:
    """The newest lines, or those from the line number `first` on, merged by time: seq starts anew in every attempt."""
    position = Position().after(_spans(task).order_by("-pk")[:1])
    rows = _spans(task).filter(pk__lte=position.last).order_by("at", "pk")
    count = rows.count()
    newest = max(0, count - LINES)
    start = newest if first is None else min(max(0, first), newest)
    shown = list(rows[start : start + LINES])
    unfinished = _spans(task).filter(pk__lte=position.last, status=_UNFINISHED)
    return FeedPage(
        lines=tuple(line_of(row) for row in shown),
        earlier=start,
        later=max(0, count - start - len(shown)),
        first=start,
        position=position.after(unfinished),
    )


def feed_after(task: UUID, position: Position) -> list[Span]:
    """What was stored after `position`, and what was unfinished there and is not any more; in the order of storing."""
    news = Q(pk__gt=position.last)
    if position.unfinished:
        news |= Q(pk__in=position.unfinished) & ~Q(status=_UNFINISHED)
    return list(_spans(task).filter(news).order_by("pk")[:LINES])


def line_of(row: Span) -> dict[str, Any]:
    """A span as a line of the feed. `at` orders the lines, `time` is what is shown."""
    return {
        "id": row.pk,
        "at": row.at.isoformat(timespec="microseconds"),
        "time": row.at.strftime("%H:%M:%S"),
        "agent": show_hidden(row.attempt.agent.name),
        "attempt": row.attempt.number,
        "kind": row.kind,
        "status": row.status,
        "text": show_hidden(row.text),
    }


def _spans(task: UUID) -> QuerySet[Span]:
    return Span.objects.filter(attempt__task_id=task).select_related("attempt__agent")
