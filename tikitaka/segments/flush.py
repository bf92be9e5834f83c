"""When a segment may be distilled, and what one flush of it covers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from uuid import UUID

TERMINAL_TASKS = frozenset({"completed", "partial", "failed", "cancelled"})


class FlushHold(StrEnum):
    """Why a segment is not flushed yet."""

    SEGMENT_OPEN = "segment_open"
    TASKS_RUNNING = "tasks_running"
    NOTHING_FINISHED = "nothing_finished"
    ALREADY_COVERED = "already_covered"


def final_flush_hold(*, status: str, task_statuses: Collection[str]) -> FlushHold | None:
    """None when a closed segment whose tasks are all terminal may be flushed."""
    if status != "closed":
        return FlushHold.SEGMENT_OPEN
    if any(task not in TERMINAL_TASKS for task in task_statuses):
        return FlushHold.TASKS_RUNNING
    return None


def uncovered(finished: Sequence[UUID], covered: Collection[UUID]) -> tuple[UUID, ...]:
    """The finished nodes that no earlier flush of the segment has covered, in order of execution."""
    return tuple(node for node in finished if node not in covered)
