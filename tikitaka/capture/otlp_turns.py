"""Calls of a model and runs of tools as turns.

Every call repeats the conversation before it, so a turn is known by its prompt and its place, and what a later call
repeats of it is the same turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tikitaka.capture.otlp_messages import Piece
from tikitaka.capture.otlp_spans import TraceSpan
from tikitaka.capture.otlp_steps import Step, Steps, ToolRun, dated, folded
from tikitaka.capture.shape import COUNT_MAX
from tikitaka.capture.turns import add_counts

TURNS_MAX = 500
_USAGE = "gen_ai.usage."
_USAGE_NAMES = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
_FIRST = datetime.min.replace(tzinfo=UTC)


class TooManyTurns(Exception):
    """More turns than one session may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A user's message and what the conversation held after it."""

    prompt: str | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a model, or of a whole agent. `segments` end with the one that it continues."""

    span: TraceSpan
    segments: tuple[Segment, ...]
    output: tuple[Piece, ...]
    system: tuple[str, ...]
    whole: bool

    @property
    def own(self) -> Segment:
        return self.segments[-1]

    def place(self) -> tuple[str, int]:
        """The prompt, and how often the conversation had held it before."""
        own = folded(self.own.prompt or "")
        return own, sum(folded(segment.prompt or "") == own for segment in self.segments[:-1])


@dataclass(slots=True, kw_only=True, eq=False)
class TurnWork:
    """A turn that is being put together. `past` is what later calls say of it."""

    prompt: str | None
    traces: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    runs: list[ToolRun] = field(default_factory=list)
    idle: list[TraceSpan] = field(default_factory=list)
    past: list[tuple[Segment, datetime | None]] = field(default_factory=list)

    @property
    def spans(self) -> list[TraceSpan]:
        """The spans that are of this turn itself."""
        return [*(call.span for call in self.calls), *(run.span for run in self.runs), *self.idle]

    def usage(self) -> dict[str, int]:
        """What its calls used; the agent's own count where that is larger, for it is the sum of theirs."""
        whole: dict[str, int] = {}
        parts: dict[str, int] = {}
        for span in [*(call.span for call in self.calls), *self.idle]:
            counted = _usage(span.attributes)
            if span.word("gen_ai.operation.name") == "invoke_agent":
                add_counts(whole, counted)
            else:
                add_counts(parts, counted)
        names = sorted({*whole, *parts})
        return {name: min(COUNT_MAX, max(whole.get(name, 0), parts.get(name, 0))) for name in names}

    def answer(self) -> str | None:
        """What the last call that said anything answered, unless it wanted tools first."""
        for call in sorted(self.calls, key=_ended, reverse=True):
            if call.output:
                return _last_words(call.output)
        return next((words for segment, _ in reversed(self.past) if (words := _last_words(segment.pieces))), None)

    def failure(self) -> str | None:
        """Why the last call that came to anything failed; None when it did not."""
        telling = [call for call in self.calls if call.output or call.span.failure]
        last = max(telling, key=_ended, default=None)
        return last.span.failure or None if last else None

    def steps(self) -> list[Step]:
        """What happened, each thing once however often it is repeated, in the order of time."""
        found = Steps()
        for call in self.calls:
            trace, start, end = call.span.trace, call.span.start, call.span.end or call.span.start
            found.take([*dated(call.own.pieces, start), *dated(call.output, end)], trace)
            if call.span.failure and not call.output and not call.whole:
                found.fail(call.span.failure, end, trace)
        for segment, at in self.past:
            found.take(dated(segment.pieces, at), "")
        for run in self.runs:
            found.run(run)
        return sorted(found.steps, key=lambda step: step.at or _FIRST)


def make_turns(calls: Iterable[Call], runs: Iterable[ToolRun], idle: Iterable[TraceSpan]) -> list[TurnWork]:
    """The turns of one session in their order; raises TooManyTurns. `idle` are calls without recorded messages.

    Everything is gone through in the order of time, so that the order of arrival changes nothing.
    """
    board = _Board()
    for call in sorted(calls, key=lambda call: call.span.order):
        board.take(call)
    for run in sorted(runs, key=lambda run: run.span.order):
        board.turn_of(run).runs.append(run)
    for span in idle:
        turns = board.by_trace.get(span.trace)
        if turns:
            (_begun(turns, span) or turns[0]).idle.append(span)
    return _with_history(sorted(board.turns, key=lambda turn: min(span.order for span in turn.spans)))


def segments(pieces: Sequence[Piece]) -> tuple[Segment, ...]:
    """A conversation by the messages of its user; several in a row are one."""
    found: list[tuple[list[str], list[Piece]]] = [([], [])]
    for piece in pieces:
        if piece.kind == "user":
            if found[-1][1]:
                found.append(([], []))
            found[-1][0].append(piece.text)
        elif piece.kind != "system":
            found[-1][1].append(piece)
    return tuple(Segment(prompt="\n".join(asked) or None, pieces=tuple(rest)) for asked, rest in found)


class _Board:
    """The turns so far, and the ways to find one."""

    def __init__(self) -> None:
        self.turns: list[TurnWork] = []
        self.by_trace: dict[str, list[TurnWork]] = {}
        self._by_place: dict[tuple[str, int], list[TurnWork]] = {}
        self._by_id: dict[str, list[TurnWork]] = {}

    def take(self, call: Call) -> None:
        """A call joins the turn that it continues, or begins one."""
        place = call.place()
        turn = self._known(call, place)
        if turn is None:
            turn = self._open(call.own.prompt)
            self._by_place.setdefault(place, []).append(turn)
        turn.calls.append(call)
        self._note(turn, call.span.trace)
        for piece in (*call.own.pieces, *call.output):
            asking = self._by_id.setdefault(piece.id, []) if piece.kind == "call" and piece.id else [turn]
            if not asking or asking[-1] is not turn:
                asking.append(turn)

    def turn_of(self, run: ToolRun) -> TurnWork:
        """The turn that asked for the tool; else the one that its trace was at; else one without a prompt."""
        asking = self._by_id.get(run.id, []) if run.id else []
        turns = asking or self.by_trace.get(run.span.trace, [])
        turn = _begun(turns, run.span) or (turns[0] if turns else self._open(None))
        self._note(turn, run.span.trace)
        return turn

    def _open(self, prompt: str | None) -> TurnWork:
        if len(self.turns) >= TURNS_MAX:
            raise TooManyTurns
        self.turns.append(TurnWork(prompt=prompt))
        return self.turns[-1]

    def _note(self, turn: TurnWork, trace: str) -> None:
        if trace not in turn.traces:
            turn.traces.add(trace)
            self.by_trace.setdefault(trace, []).append(turn)

    def _known(self, call: Call, place: tuple[str, int]) -> TurnWork | None:
        """The turn that the call continues.

        The same prompt in another trace, with nothing before and nothing after it, is asked anew.
        """
        turns = self.by_trace.get(call.span.trace, [])
        if call.own.prompt is None:
            ids = (piece.id for piece in call.own.pieces if piece.id)
            asked = next((self._by_id[own][-1] for own in ids if own in self._by_id), None)
            return asked or (turns[-1] if turns else None)
        same = self._by_place.get(place, [])
        inside = [turn for turn in same if call.span.trace in turn.traces]
        continues = bool(call.own.pieces) or len(call.segments) > 1
        found = inside or (same if continues else [])
        return found[-1] if found else None


def _with_history(turns: list[TurnWork]) -> list[TurnWork]:
    """Turns of which only later calls tell come in before the turn whose call tells of them."""
    order: list[TurnWork] = []
    for turn in turns:
        teller = max(turn.calls, key=lambda call: len(call.segments), default=None)
        if teller is not None:
            _remember(order, teller)
        order.append(turn)
        if len(order) > TURNS_MAX:
            raise TooManyTurns
    return _adopted(order)


def _adopted(order: list[TurnWork]) -> list[TurnWork]:
    """Runs whose calls are known from a later call only join the turn of which it tells."""
    asking = {
        piece.id: turn
        for turn in order
        for segment, _ in turn.past
        for piece in segment.pieces
        if piece.kind == "call" and piece.id
    }
    for turn in order:
        if turn.prompt is None and not turn.calls:
            for run in [run for run in turn.runs if run.id in asking]:
                turn.runs.remove(run)
                asking[run.id].runs.append(run)
                asking[run.id].traces.add(run.span.trace)
    return [turn for turn in order if turn.prompt is not None or turn.spans]


def _remember(order: list[TurnWork], teller: Call) -> None:
    """From the latest backwards, so that a conversation whose beginning was cut off still finds its place."""
    behind = len(order)
    prompts = [folded(turn.prompt or "") for turn in order]
    for segment in reversed(teller.segments[:-1]):
        if segment.prompt is None:
            continue
        wanted = folded(segment.prompt)
        at = next((place for place in range(behind - 1, -1, -1) if prompts[place] == wanted), None)
        if at is None:
            if len(order) >= TURNS_MAX:
                raise TooManyTurns
            at = behind
            order.insert(at, TurnWork(prompt=segment.prompt))
            prompts.insert(at, wanted)
        order[at].past.append((segment, teller.span.start))
        behind = at


def _begun(turns: Sequence[TurnWork], span: TraceSpan) -> TurnWork | None:
    """The last of the turns that had begun when the span began."""
    begun = [turn for turn in turns if turn.calls and min(call.span.order for call in turn.calls) <= span.order]
    return begun[-1] if begun else None


def _ended(call: Call) -> tuple[datetime, tuple[bool, datetime, datetime, str, str]]:
    return call.span.end or call.span.start or _FIRST, call.span.order


def _last_words(pieces: Sequence[Piece]) -> str | None:
    """The words with which the pieces end; None when they end with a tool."""
    words: list[str] = []
    for piece in pieces:
        if piece.kind in ("call", "result"):
            words.clear()
        elif piece.kind == "say":
            words.append(piece.text)
    if pieces and pieces[-1].kind in ("call", "result"):
        return None
    return "\n".join(words) or None


def _usage(attributes: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in attributes.items():
        name = key.removeprefix(_USAGE).replace(".", "_")
        if key.startswith(_USAGE) and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            found[_USAGE_NAMES.get(name, name)] = value
    return {name: count for name, count in found.items() if name.isidentifier() and name.isascii()}
