"""GenAI spans of OpenTelemetry as sessions: one for each agent and conversation.

What is not GenAI only shows who belongs to whom. docs/import.md says which attributes and events are read.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tikitaka.capture.codex_calls import call_span, finished, outcome
from tikitaka.capture.events import SpanDraft
from tikitaka.capture.otlp_messages import Fault, decoded, exchange, result_text
from tikitaka.capture.otlp_spans import PlacedSpan, TooManySpans, TraceSpan, placed, read_spans
from tikitaka.capture.otlp_steps import Step, ToolRun
from tikitaka.capture.otlp_turns import Call, TooManyTurns, TurnWork, make_turns, segments
from tikitaka.capture.sessions import THREAD_ID_CHARS, ImportedSession, UnreadableSession
from tikitaka.capture.shape import Item, arguments, mapping
from tikitaka.capture.turns import DamagedLine, SessionReader
from tikitaka.text import clean_captured, cut, one_line

_AGENT_CHARS = 200
_MARK_CHARS = 16
_SHELLS = frozenset({"bash", "terminal", "execute_command", "run_command", "run_shell_command"})
_WHOLE = frozenset({"invoke_agent", "invoke_workflow"})
_SILENT = frozenset({"create_agent", "embeddings", "retrieval"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What one reading gave. `damaged` are the spans that could not be read whole, by their place in the document."""

    sessions: tuple[ImportedSession, ...]
    damaged: tuple[DamagedLine, ...]


@dataclass(slots=True)
class _Group:
    """The work of one agent in one conversation."""

    calls: list[Call] = field(default_factory=list)
    runs: list[ToolRun] = field(default_factory=list)
    idle: list[TraceSpan] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)


def read_traces(documents: Iterable[Item]) -> Traces:
    """The sessions in one or several export requests; raises UnreadableSession.

    Neither the order of the spans nor how they are spread over the requests matters, and a span that comes twice
    counts once.
    """
    damaged: dict[DamagedLine, None] = {}

    def damage(number: int, reason: str) -> None:
        damaged[DamagedLine(number=number, reason=reason, what="span")] = None

    def named() -> tuple[DamagedLine, ...]:
        return tuple(sorted(damaged, key=lambda line: (line.number, line.reason)))

    groups: dict[tuple[str, str], _Group] = defaultdict(_Group)
    try:
        for one in placed(read_spans(documents, damage)):
            _sort_in(one, groups, partial(damage, one.span.number))
        works = {key: make_turns(group.calls, group.runs, group.idle) for key, group in groups.items()}
    except TooManySpans as refused:
        raise UnreadableSession("too_many_spans", named()) from refused
    except TooManyTurns as refused:
        raise UnreadableSession("too_many_turns", named()) from refused
    known = {line.number for line in damaged}
    for key, turns in works.items():
        told = {trace for turn in turns for trace in turn.traces}
        for span in groups[key].idle:
            if span.trace not in told and span.number not in known:
                damage(span.number, "no_content")
    if not any(works.values()):
        raise UnreadableSession("no_turns", named())
    sessions = [_session(key, groups[key], turns, named()) for key, turns in works.items() if turns]
    return Traces(sessions=tuple(sessions), damaged=named())


def by_agent(sessions: Iterable[ImportedSession]) -> dict[str, list[ImportedSession]]:
    """The sessions of each agent, by the name that the traces give it: its name, else its id, else the service's."""
    found: dict[str, list[ImportedSession]] = defaultdict(list)
    for session in sessions:
        found[session.agent].append(session)
    return dict(found)


def _sort_in(one: PlacedSpan, groups: Mapping[tuple[str, str], _Group], fault: Fault) -> None:
    """Puts a GenAI span where it belongs; any other span says nothing of the work itself."""
    span = one.span
    names = [*span.attributes, *(name for name, _ in span.events)]
    if not any(name.startswith("gen_ai.") for name in names):
        return
    group = groups[cut(one_line(one.agent), _AGENT_CHARS), _thread(one.thread, span.trace)]
    group.numbers.add(span.number)
    said = exchange(span, fault)
    system = tuple(piece.text for piece in said.input if piece.kind == "system")
    operation = span.word("gen_ai.operation.name")
    parts = segments(said.input)
    if operation == "execute_tool" or (not operation and span.word("gen_ai.tool.name")):
        shown = result_text(span.attributes.get("gen_ai.tool.call.result"))
        shown = shown or next((piece.text for piece in said.input if piece.kind == "result"), "")
        group.runs.append(_run(span, shown))
    elif operation not in _SILENT and (said.output or len(parts) > 1 or parts[0].prompt or parts[0].pieces):
        whole = operation in _WHOLE
        call = Call(span=span, segments=parts, output=tuple(said.output), system=system, whole=whole)
        group.calls.append(call)
    else:
        group.system += system
        if operation not in _SILENT:
            group.idle.append(span)


def _thread(name: str, trace: str) -> str:
    """The thread's name as it may be stored; one that is too long is told from others that begin like it."""
    clean = clean_captured(name).strip() or trace
    return clean if len(clean) <= THREAD_ID_CHARS else f"conversation-{_digest(clean, 64)}"


def _run(span: TraceSpan, shown: str) -> ToolRun:
    given = span.attributes.get("gen_ai.tool.call.arguments")
    return ToolRun(
        span=span,
        id=span.word("gen_ai.tool.call.id"),
        name=span.word("gen_ai.tool.name"),
        given=None if given is None else arguments(decoded(given)),
        result=shown,
    )


def _session(
    key: tuple[str, str], group: _Group, turns: Sequence[TurnWork], damaged: Sequence[DamagedLine]
) -> ImportedSession:
    reader = SessionReader()
    for said in group.system:
        reader.inject(said)
    for turn in turns:
        _put(turn, reader)
    agent, thread = key
    return ImportedSession(
        form="otlp",
        thread_id=thread,
        thread_named=True,
        turns=reader.finish(None),
        damaged=tuple(line for line in damaged if line.number in group.numbers),
        agent=agent,
    )


def _put(work: TurnWork, reader: SessionReader) -> None:
    """One turn from its beginning to its end."""
    for call in work.calls:
        for said in call.system:
            reader.inject(said)
    started = min((span.start for span in work.spans if span.start), default=None)
    turn = reader.begin(work.prompt, started)
    turn.ended_at = max((span.end for span in work.spans if span.end), default=started)
    steps = work.steps()
    for draft in _drafts(steps):
        reader.put(draft, spoken=False)
    turn.usage, turn.answer = work.usage(), work.answer()
    if turn.answer is None:
        why = work.failure()
        if why is not None:
            reader.fail("bad_answer", why)
        elif steps and steps[-1].kind == "call":
            reader.fail("interrupted", "the recording ends in the middle of the turn")
    reader.close()


def _drafts(steps: Iterable[Step]) -> Iterator[SpanDraft]:
    for step in steps:
        draft = _draft(step)
        data = {**draft.data, "trace": step.trace} if step.trace else draft.data
        # The id itself may be anything; its digest is enough to know the call again in a later batch.
        data = {**data, "call": _digest(step.id, _MARK_CHARS)} if step.id else data
        yield replace(draft, data=data, key=None, at=step.at)


def _draft(step: Step) -> SpanDraft:
    if step.kind == "say":
        return SpanDraft(kind="agent_message", text=step.text)
    if step.kind == "think":
        return SpanDraft(kind="reasoning", text=step.text)
    if step.kind == "fail":
        return SpanDraft(kind="error", status="failed", text=step.text)
    given = mapping(arguments(step.given))
    shell = step.text.casefold() in _SHELLS and ("command" in given or "cmd" in given)
    draft = call_span("shell" if shell else step.text or "tool", step.given, key=None)
    if step.status == "started":
        return replace(draft, status="started")
    result = outcome(step.result)
    failed = step.status == "failed" or (draft.kind == "command" and result.exit_code not in (None, 0))
    return finished(draft, replace(result, success=not failed, running=None))


def _digest(shown: str, chars: int) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:chars]
