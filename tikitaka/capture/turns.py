"""A recorded session as turns: what a person asked, what was put before the agent, what it did and answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from tikitaka.capture.events import SpanDraft
from tikitaka.capture.shape import Item
from tikitaka.ports import ErrorKind

NumberedLine = tuple[int, Item]
Form = Literal["codex_exec", "codex_rollout", "claude_stream", "claude_project", "plain", "otlp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """One prompt and its work. `prompt` is None where the form does not say; `error` names how the turn failed."""

    prompt: str | None
    injected: tuple[str, ...]
    spans: tuple[SpanDraft, ...]
    answer: str | None
    usage: Mapping[str, int]
    started_at: datetime | None
    ended_at: datetime | None
    error: ErrorKind | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line that could not be read whole, by its number in the file, from 1; of traces it may be a span."""

    number: int
    reason: str
    what: Literal["line", "span"] = "line"


@dataclass(slots=True)
class Turn:
    """A turn that is being read."""

    prompt: str | None = None
    injected: list[str] = field(default_factory=list)
    spans: list[SpanDraft] = field(default_factory=list)
    answer: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: ErrorKind | None = None
    detail: str = ""
    closed: bool = False


class SessionReader:
    """Puts together what a form's parser finds. Text put before the agent again and again is kept once."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.thread_id = ""
        self.damaged: list[DamagedLine] = []
        self._waiting: list[str] = []
        self._seen: set[str] = set()
        self._places: dict[str, tuple[Turn, int]] = {}

    def name(self, thread_id: str) -> bool:
        """Takes the first name of the thread; False for a different one."""
        self.thread_id = self.thread_id or thread_id.strip()
        return not thread_id.strip() or self.thread_id == thread_id.strip()

    def damage(self, number: int, reason: str) -> None:
        """Notes a line that could not be read."""
        self.damaged.append(DamagedLine(number=number, reason=reason))

    @property
    def open_turn(self) -> Turn | None:
        """The turn under way, if any."""
        return self.turns[-1] if self.turns and not self.turns[-1].closed else None

    def begin(self, prompt: str | None, at: datetime | None) -> Turn:
        """A new turn; what was put before the agent since the last one belongs to it."""
        turn = Turn(prompt=prompt, injected=self._waiting, started_at=at)
        self._waiting = []
        self.turns.append(turn)
        return turn

    def current(self, at: datetime | None) -> Turn:
        """The turn under way; where a form shows no prompt, work opens one."""
        turn = self.open_turn or self.begin(None, at)
        self._touch(turn, at)
        return turn

    def inject(self, text: str) -> None:
        """Text that reached the agent from instructions or environment, not from speech."""
        key = " ".join(text.split())
        if not key or key in self._seen:
            return
        self._seen.add(key)
        turn = self.open_turn
        (turn.injected if turn else self._waiting).append(text)

    def put(self, draft: SpanDraft, at: datetime | None = None, *, spoken: bool = True) -> None:
        """A trace event, or the later state of one with the same key; a message that is `spoken` is the answer so far.

        An event of a closed turn that comes late still finds its place.
        """
        place = self._places.get(draft.key) if draft.key else None
        if place is not None:
            turn, index = place
            turn.spans[index] = replace(draft, at=turn.spans[index].at or draft.at)
            self._touch(turn, at)
        else:
            turn = self.current(at)
            if draft.key:
                self._places[draft.key] = (turn, len(turn.spans))
            turn.spans.append(replace(draft, at=draft.at or at))
        if spoken and draft.kind == "agent_message" and draft.status != "started" and draft.text.strip():
            turn.answer = draft.text

    def find(self, key: str) -> SpanDraft | None:
        """The span with a runtime's own id."""
        place = self._places.get(key)
        return place[0].spans[place[1]] if place else None

    def forget_keys(self) -> None:
        """From here on the runtime counts its ids anew."""
        self._places.clear()

    def fail(self, error: ErrorKind, detail: str, at: datetime | None = None) -> None:
        """The turn under way, or the last one, failed; the first reason stands."""
        turn = self.open_turn or (self.turns[-1] if self.turns else self.begin(None, at))
        if turn.error is None:
            turn.error, turn.detail = error, detail
        self._touch(turn, at)

    def reopen(self) -> None:
        """What comes now still belongs to the turn that was said to have ended."""
        if self.turns:
            self.turns[-1].closed = False

    def close(self, at: datetime | None = None) -> None:
        """The runtime says that the turn has ended."""
        turn = self.open_turn
        if turn is not None:
            self._touch(turn, at)
            turn.closed = True

    def drop(self, turn: Turn) -> None:
        """Takes a turn back that was no work; what was asked for is kept beside the others' surroundings."""
        self.turns.remove(turn)
        self._waiting += [*turn.injected, turn.prompt or ""]

    def finish(self, prompt: str | None) -> tuple[ImportedTurn, ...]:
        """The turns. `prompt` goes to the first one when the form does not say what was asked."""
        if self.turns and self._waiting:
            self.turns[-1].injected += self._waiting
        if prompt and self.turns and self.turns[0].prompt is None:
            self.turns[0].prompt = prompt
        return tuple(_finished(turn, last=turn is self.turns[-1]) for turn in self.turns)

    @staticmethod
    def _touch(turn: Turn, at: datetime | None) -> None:
        if at is not None:
            turn.started_at = turn.started_at or at
            turn.ended_at = max(turn.ended_at or at, at)


def add_counts(total: dict[str, int], more: Mapping[str, int]) -> None:
    """Adds token counts by their names."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def joined(texts: Iterable[str]) -> str:
    """Several texts of one message as one."""
    return "\n".join(text for text in texts if text)


def _finished(turn: Turn, *, last: bool) -> ImportedTurn:
    error, detail = turn.error, turn.detail
    if error is None and last and not turn.closed and turn.spans and turn.spans[-1].kind != "agent_message":
        error, detail = "interrupted", "the recording ends in the middle of the turn"
    if error is None and turn.answer is None:
        error, detail = "no_answer", "the recording holds no answer"
    return ImportedTurn(
        prompt=turn.prompt if turn.prompt and turn.prompt.strip() else None,
        injected=tuple(turn.injected),
        spans=tuple(turn.spans),
        answer=turn.answer if error is None else None,
        usage=dict(turn.usage),
        started_at=turn.started_at,
        ended_at=turn.ended_at,
        error=error,
        detail=detail if error else "",
    )
