"""Whether a task joins the open segment or closes it first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tikitaka.policy import Policy
from tikitaka.ports import Vector
from tikitaka.segments.signals import SignalReading

CloseReason = Literal["size_cap", "idle", "topic_shift"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSegment:
    """The one open segment of the team: its tasks so far, their characters, and when something last happened."""

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
    """`opens_new` with no close reason when nothing was open; `reading` is kept with the segment that it closed."""

    opens_new: bool
    close_reason: CloseReason | None
    reading: SignalReading | None


def assign(
    open_segment: OpenSegment | None, task: IncomingTask, *, policy: Policy, reading: SignalReading | None
) -> Assignment:
    """Caps and idle time come before the topic; a missing reading never closes."""
    raise NotImplementedError


def is_idle(last_activity_at: datetime, now: datetime, policy: Policy) -> bool:
    raise NotImplementedError


def node_drift(buffered: Sequence[Vector], new: Vector) -> int | None:
    """Cosine distance (basis points) of a node's vector to the mean of those buffered before; None for the first."""
    raise NotImplementedError
