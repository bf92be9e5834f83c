"""What happened in a turn, each thing once, however many calls repeat it."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tikitaka.capture.otlp_messages import Piece
from tikitaka.capture.otlp_spans import TraceSpan
from tikitaka.capture.shape import compact


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """A run of a tool. `given` is None where it was not recorded."""

    span: TraceSpan
    id: str
    name: str
    given: Any
    result: str


@dataclass(slots=True, kw_only=True, eq=False)
class Step:
    """Something that happened in a turn; `at` is the earliest time at which it is known to have happened."""

    kind: str
    text: str
    at: datetime | None
    trace: str
    id: str = ""
    given: Any = None
    result: str = ""
    status: str = "started"
    run: bool = False


class Steps:
    """Things that happened, found again when they are mentioned again."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._known: dict[tuple[str, str, int], Step] = {}
        self._by_id: dict[str, Step] = {}
        self._calls: dict[tuple[str, str | None], deque[Step]] = defaultdict(deque)

    def take(self, said: Iterable[tuple[Piece, datetime | None]], trace: str) -> None:
        """Pieces in the order of one conversation; the second mention of the same words in it is a second thing."""
        count: Counter[tuple[str, str]] = Counter()
        last: Step | None = None
        for piece, at in said:
            if piece.kind == "result":
                last = self._by_id.get(piece.id) if piece.id else last
                self._result(piece, last, at, trace)
                continue
            shown = piece.name if piece.kind == "call" else piece.text
            name = f"{shown} {compact(piece.given)}" if piece.kind == "call" else folded(shown)
            count[piece.kind, name] += 1
            key = (piece.kind, name, count[piece.kind, name])
            step = self._by_id.get(piece.id) if piece.kind == "call" and piece.id else self._known.get(key)
            if step is None:
                step = self._add(Step(kind=piece.kind, text=shown, at=at, trace=trace, id=piece.id, given=piece.given))
                self._known[key] = step
            self._mention(step, at, trace)
            last = step if piece.kind == "call" else last

    def run(self, run: ToolRun) -> None:
        """A run fits the call with its id; without one, the first call of this tool that has not run yet."""
        step = self._by_id.get(run.id) if run.id else self._waiting(run)
        if step is None:
            step = self._add(Step(kind="call", text=run.name, at=run.span.start, trace=run.span.trace, id=run.id))
        step.run = True
        step.text = step.text or run.name
        step.given = run.given if step.given is None else step.given
        step.result = run.result or step.result
        step.status = "failed" if run.span.failure else "completed"
        if run.span.failure and not step.result:
            step.result = run.span.failure
        self._mention(step, run.span.start, run.span.trace)

    def fail(self, why: str, at: datetime | None, trace: str) -> None:
        """A call that failed."""
        self._add(Step(kind="fail", text=why, at=at, trace=trace, status="failed"))

    def _result(self, piece: Piece, step: Step | None, at: datetime | None, trace: str) -> None:
        if step is None or (piece.id and step.id != piece.id):
            step = self._add(Step(kind="call", text=piece.name, at=at, trace=trace, id=piece.id))
        step.text = step.text or piece.name
        if step.status == "started":
            step.status, step.result = "completed", piece.text

    def _waiting(self, run: ToolRun) -> Step | None:
        waiting = self._calls.get((run.name, None if run.given is None else compact(run.given)), deque())
        while waiting and waiting[0].run:
            waiting.popleft()
        return waiting[0] if waiting else None

    def _add(self, step: Step) -> Step:
        self.steps.append(step)
        if step.kind == "call":
            self._calls[step.text, None].append(step)
            self._calls[step.text, compact(step.given)].append(step)
        if step.kind == "call" and step.id:
            self._by_id[step.id] = step
        return step

    @staticmethod
    def _mention(step: Step, at: datetime | None, trace: str) -> None:
        step.trace = step.trace or trace
        if at is not None:
            step.at = min(step.at or at, at)


def dated(pieces: Sequence[Piece], by: datetime | None) -> list[tuple[Piece, datetime | None]]:
    """Pieces with the time by which they were there, a microsecond apart, so that their order outlives any sorting."""
    count = len(pieces)
    return [(piece, by and by - timedelta(microseconds=count - place)) for place, piece in enumerate(pieces)]


def folded(shown: str) -> str:
    """A text as two mentions of it are compared."""
    return " ".join(shown.split())
