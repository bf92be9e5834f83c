"""What one line of an agent's output can mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

SpanKindName = Literal["reasoning", "command", "file_change", "tool_call", "agent_message", "progress", "error"]
SpanStatusName = Literal["started", "completed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanDraft:
    """One trace event. `key` is the runtime's own id: a second draft with the same key is the same span, later."""

    kind: SpanKindName
    text: str
    status: SpanStatusName = "completed"
    key: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    injected: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStarted:
    """The runtime names the thread in which it works."""

    thread_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of the turn by the runtime's own names."""

    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """The runtime says that the turn failed."""

    detail: str


CaptureEvent = SpanDraft | ThreadStarted | Usage | TurnFailed
