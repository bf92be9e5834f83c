"""Whether a task joins the open segment or closes it first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from tikitaka.policy import Policy
from tikitaka.ports import Vector
from tikitaka.routing.vectors import basis_points, unit
from tikitaka.segments.signals import SignalReading

CloseReason = Literal["size_cap", "idle", "topic_shift"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSegment:
    """The one open segment of the team: its tasks so far, their characters, the last sign of life."""

    task_count: int
    chars: int
    last_activity_at: datetime
    prompts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingTask:
    prompt_chars: int
    submitted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """`opens_new` without a close reason when nothing was open.

    `reading` is kept with the segment whenever the topic was considered, whether or not it closed.
    """

    opens_new: bool
    close_reason: CloseReason | None
    reading: SignalReading | None


def assign(
    open_segment: OpenSegment | None, task: IncomingTask, *, policy: Policy, reading: SignalReading | None
) -> Assignment:
    """Caps and idle time come before the topic; a missing reading never closes.

    A size cap is what the segment would have with this task: it never grows past the cap, unless one task
    alone does.
    """
    if open_segment is None:
        return Assignment(opens_new=True, close_reason=None, reading=None)
    if (
        open_segment.task_count >= policy.segment_tasks_max
        or open_segment.chars + task.prompt_chars > policy.segment_chars_max
    ):
        return Assignment(opens_new=True, close_reason="size_cap", reading=None)
    if is_idle(open_segment.last_activity_at, task.submitted_at, policy):
        return Assignment(opens_new=True, close_reason="idle", reading=None)
    if reading is not None and reading.closes:
        return Assignment(opens_new=True, close_reason="topic_shift", reading=reading)
    return Assignment(opens_new=False, close_reason=None, reading=reading)


def is_idle(last_activity_at: datetime, now: datetime, policy: Policy) -> bool:
    """True from the moment on that nothing has happened for the idle time."""
    return now - last_activity_at >= timedelta(seconds=policy.segment_idle_s)


def node_drift(buffered: Sequence[Vector], new: Vector) -> int | None:
    """Cosine distance (basis points) of a node's vector to the mean of those buffered before.

    None for the first node, and where a vector is unusable: what cannot be measured never cuts.
    """
    units = [unit(vector) for vector in (*buffered, new)]
    known = [vector for vector in units if vector is not None]
    if not buffered or len(known) < len(units) or len({vector.shape for vector in known}) > 1:
        return None
    mean = unit(np.mean(known[:-1], axis=0).tolist())
    return 10_000 if mean is None else basis_points(1.0 - float(mean @ known[-1]))
