"""A leased node while it is being worked on: its spans, whether to stop, and how it ended. Sends nothing itself."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from tikitaka.client.calls import Call, given
from tikitaka.client.errors import ClientError, Conflict, Invalid, NotAuthenticated, Refused, TooLarge
from tikitaka.client.operations.external import append_spans, complete_attempt, heartbeat
from tikitaka.client.records.external import Completion, Envelope, Heartbeat, Lease, Stored

SpanKind = Literal["reasoning", "command", "file_change", "tool_call", "agent_message", "progress", "error"]
_BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent said, with the tokens that it took and the thread that it may be continued in."""

    output: str
    usage: Mapping[str, int] = field(default_factory=dict)
    thread: str | None = None


Ending = str | Answer | BaseException


class Failed(Exception):
    """Raised by a program to say how it failed; `error` is one of the kinds that the server knows."""

    def __init__(self, error: str, detail: str = "") -> None:
        self.error, self.detail = error, detail
        super().__init__(f"{error}: {detail}")


class Stopped(Exception):
    """The task was cancelled or the lease is lost: nothing that comes later is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some spans, and the call that stores them."""

    spans: list[dict[str, Any]]
    call: Call[Stored]


class Job:
    """What a program is given. Its methods may be called from any thread."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._lock = threading.Lock()
        self._spans: deque[dict[str, Any]] = deque()
        self._flying = False
        self._last = 0
        self._refused: Refused | None = None
        self.cancelled = False
        self.lost = False

    @property
    def attempt(self) -> UUID:
        """The id of the attempt."""
        return self._lease.attempt

    @property
    def prompt(self) -> str:
        """What the agent is to be shown, exactly as it was saved."""
        return self._lease.prompt

    @property
    def thread(self) -> str | None:
        """The agent's own thread that may be continued."""
        return self._lease.thread

    @property
    def envelope(self) -> Envelope:
        """The same in fields: agent, role, instruction and so on."""
        return self._lease.envelope

    @property
    def stopped(self) -> bool:
        """True once the program should end."""
        return self.cancelled or self.lost

    def check(self) -> None:
        """Raises Stopped once the program should end."""
        if self.stopped:
            raise Stopped("the lease is lost" if self.lost else "the task was cancelled")

    def span(
        self,
        kind: SpanKind,
        text: str,
        *,
        status: str | None = None,
        data: Mapping[str, Any] | None = None,
        replaces: int | None = None,
    ) -> int:
        """Tells what the agent does, and its number; raises Stopped as `check` does. Sent soon, in the background."""
        self.check()
        with self._lock:
            self._last += replaces is None
            seq = replaces or self._last
            self._spans.append(given(seq=seq, kind=kind, text=text, status=status, data=data))
        return seq

    # --- for whoever runs it

    @property
    def heartbeat_s(self) -> float:
        """How often to say that we live: a little more often than is asked."""
        return self._lease.heartbeat_s * 0.8

    def beat(self) -> Call[Heartbeat]:
        """The heartbeat of this attempt."""
        return heartbeat(self.attempt, token=self._lease.token)

    def beaten(self, found: Heartbeat | ClientError) -> None:
        """What a heartbeat said. A server that is away for a moment has not taken the lease."""
        if isinstance(found, Heartbeat):
            self.cancelled = self.cancelled or found.cancel_requested
        elif isinstance(found, NotAuthenticated | Conflict):
            self.lost = True

    @property
    def tells(self) -> bool:
        """True while there are spans that the server does not have."""
        return bool(self._spans) or self._flying

    def batch(self) -> Batch | None:
        """The next spans to send; None when there are none, or while others are on their way: they come in order."""
        with self._lock:
            if self._flying or not self._spans:
                return None
            self._flying = True
            taken = [self._spans.popleft() for _ in range(min(_BATCH, len(self._spans)))]
        return Batch(spans=taken, call=append_spans(self.attempt, taken, token=self._lease.token))

    def told(self, batch: Batch, found: Stored | ClientError) -> None:
        """What became of a batch: spans that were not stored go again unless the server does not want them."""
        with self._lock:
            self._flying = False
            if isinstance(found, NotAuthenticated | Conflict):
                self.lost = True
            elif isinstance(found, Invalid | TooLarge):
                self._refused = found
            elif isinstance(found, ClientError):
                self._spans.extendleft(reversed(batch.spans))

    def end(self, found: Ending) -> Call[Completion]:
        """How the attempt is reported."""
        return complete_attempt(self.attempt, token=self._lease.token, **self._words(found))

    def _words(self, found: Ending) -> dict[str, Any]:
        if self.cancelled or isinstance(found, Stopped):
            return {"error": "cancelled"}
        if isinstance(found, Failed):
            return {"error": found.error, "detail": found.detail}
        if isinstance(found, BaseException):
            return {"error": "exit_nonzero", "detail": type(found).__name__}
        if self._refused is not None:
            return {"error": "bad_answer", "detail": f"a span was refused: {self._refused.detail}"[:500]}
        answer = Answer(output=found) if isinstance(found, str) else found
        return {"output": answer.output, "usage": dict(answer.usage) or None, "thread": answer.thread}
