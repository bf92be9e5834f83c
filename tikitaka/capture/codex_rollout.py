"""The session file of Codex. It says most things twice, for the model and for the screen; they are taken once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from tikitaka.capture.codex_calls import call_span, ended_call, finished, outcome
from tikitaka.capture.events import SpanDraft, SpanKindName
from tikitaka.capture.shape import (
    Item,
    arguments,
    compact,
    counts,
    mapping,
    moment,
    objects,
    pieces,
    strings,
    text,
)
from tikitaka.capture.turns import NumberedLine, SessionReader, joined

Side = Literal["model", "screen"]

# What Codex itself puts before the model in the role of the user begins with one of these.
INJECTED_STARTS = (
    "# AGENTS.md instructions",
    "<environment_context",
    "<user_instructions",
    "<INSTRUCTIONS",
    "<turn_aborted",
    "<skill>",
    "<skills",
    "<permissions",
    "<collaboration_mode",
    "<user_shell_command",
    "<subagent_notification",
    "<personality",
    "<user_action",
)
_IMAGE = "[image]"
_INJECTED_KINDS = frozenset({"user_instructions", "environment_context"})


def read_rollout(lines: Iterable[NumberedLine], reader: SessionReader) -> None:
    """A session file from its first line to its last."""
    lines = list(lines)
    rollout = _Rollout(reader, None if reader.damaged else _shown_prompts(lines))
    for number, line in lines:
        payload = line.get("payload")
        if not isinstance(payload, Mapping):
            reader.damage(number, "wrong_shape")
            continue
        rollout.take(text(line.get("type")), payload, moment(line.get("timestamp")))


def _shown_prompts(lines: Iterable[NumberedLine]) -> frozenset[str] | None:
    """What people typed, by the screen; None when this file does not keep that."""
    payloads = [mapping(line.get("payload")) for _, line in lines if line.get("type") == "event_msg"]
    shown = [text(p.get("message")).strip() or _IMAGE for p in payloads if p.get("type") == "user_message"]
    return frozenset(shown) or None


class _Rollout:
    """`shown` are the prompts as the screen showed them; what else the model got in the role of the user is ours."""

    def __init__(self, reader: SessionReader, shown: frozenset[str] | None) -> None:
        self._reader, self._shown = reader, shown
        self._started = True
        self._prompt_side: Side | None = None
        self._prompt_pieces: list[str] = []
        self._said: dict[Side, Counter[tuple[str, str]]] = {"model": Counter(), "screen": Counter()}
        self._running: dict[str, str] = {}
        self._total: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._items: Mapping[str, Callable[[Item, datetime | None], None]] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "function_call": self._call,
            "custom_tool_call": self._call,
            "local_shell_call": self._shell_call,
            "web_search_call": self._search_call,
            "function_call_output": self._output,
            "custom_tool_call_output": self._output,
        }
        self._events: Mapping[str, Callable[[Item, datetime | None], None]] = {
            "user_message": self._user_message,
            "agent_message": lambda e, at: self._say("screen", "agent_message", text(e.get("message")), at),
            "agent_reasoning": lambda e, at: self._say("screen", "reasoning", text(e.get("text")), at),
            "token_count": self._tokens,
            "task_started": self._start,
            "turn_started": self._start,
            "task_complete": self._complete,
            "turn_complete": self._complete,
            "turn_aborted": self._aborted,
            "error": self._error,
            "exec_command_end": self._call_end,
            "patch_apply_end": self._call_end,
            "mcp_tool_call_end": self._call_end,
        }

    def take(self, kind: str, payload: Item, at: datetime | None) -> None:
        """One line of the file."""
        if kind == "session_meta":
            self._reader.name(text(payload.get("id")))
            self._inject_all(payload.get("base_instructions"), payload.get("instructions"))
        elif kind == "turn_context":
            mode = mapping(mapping(payload.get("collaboration_mode")).get("settings"))
            self._inject_all(
                payload.get("user_instructions"),
                payload.get("developer_instructions"),
                mode.get("developer_instructions"),
            )
        elif kind == "compacted":
            self._inject_all(payload.get("message"))
        else:
            table = {"response_item": self._items, "event_msg": self._events}.get(kind, {})
            read = table.get(text(payload.get("type")))
            if read is not None:
                read(payload, at)

    # --- what was asked, and what was put before the agent

    def _message(self, item: Item, at: datetime | None) -> None:
        said = pieces(item.get("content"))
        if item.get("role") == "assistant":
            for piece in said:
                self._say("model", "agent_message", piece, at)
            return
        asked = [piece for piece in said if item.get("role") == "user" and self._is_speech(piece)]
        for piece in said:
            if piece not in asked:
                self._reader.inject(piece)
        if asked:
            self._prompt("model", asked, at)

    def _is_speech(self, piece: str) -> bool:
        if self._shown is not None:
            return piece.strip() in self._shown
        return not piece.lstrip().startswith(INJECTED_STARTS)

    def _user_message(self, event: Item, at: datetime | None) -> None:
        message = text(event.get("message"))
        if event.get("kind") in _INJECTED_KINDS:
            self._reader.inject(message)
        else:
            self._prompt("screen", [message if message.strip() else _IMAGE], at)

    def _prompt(self, side: Side, asked: list[str], at: datetime | None) -> None:
        """A person's message; the same one seen from the other side opens no second turn."""
        turn = self._reader.open_turn
        known = {piece.strip() for piece in self._prompt_pieces}
        if turn is not None and self._prompt_side not in (None, side) and known & {piece.strip() for piece in asked}:
            turn.prompt = joined(asked) if side == "screen" else turn.prompt
            self._prompt_side = None
            return
        self._reader.begin(joined(asked), at)
        self._started, self._prompt_side, self._prompt_pieces = True, side, asked
        self._new_turn()

    def _inject_all(self, *values: Any) -> None:
        for value in values:
            for piece in strings(value):
                self._reader.inject(piece)

    # --- what the agent said and did

    def _say(self, side: Side, kind: SpanKindName, said: str, at: datetime | None) -> None:
        if not said.strip():
            return
        other: Side = "screen" if side == "model" else "model"
        key = (kind, said.strip())
        if self._said[other][key] > self._said[side][key]:
            self._said[side][key] += 1
            return
        self._work()
        self._said[side][key] += 1
        self._reader.put(SpanDraft(kind=kind, text=said), at)

    def _reasoning(self, item: Item, at: datetime | None) -> None:
        for part in objects(item.get("summary")):
            self._say("model", "reasoning", text(part.get("text")), at)

    def _call(self, item: Item, at: datetime | None) -> None:
        name, key = text(item.get("name")), text(item.get("call_id")) or None
        given = item.get("arguments", item.get("input"))
        if name == "write_stdin" and self._continues(given, key):
            return
        if name == "update_plan":
            self._work()
            self._reader.put(call_span(name, given, key=f"plan of turn {len(self._reader.turns)}"), at)
            return
        self._put_call(call_span(name, given, key=key, namespace=text(item.get("namespace"))), at)

    def _continues(self, given: Any, key: str | None) -> bool:
        """Input to a command that still runs belongs to that command."""
        command = self._running.get(str(mapping(arguments(given)).get("session_id")))
        if command is None or key is None:
            return False
        self._running[key] = command
        return True

    def _shell_call(self, item: Item, at: datetime | None) -> None:
        key = text(item.get("call_id")) or text(item.get("id")) or None
        self._put_call(call_span("local_shell", mapping(item.get("action")), key=key), at)

    def _search_call(self, item: Item, at: datetime | None) -> None:
        query = text(mapping(item.get("action")).get("query"))
        self._work()
        self._reader.put(
            SpanDraft(kind="tool_call", text=f"web_search {compact({'query': query})}", data={"tool": "web_search"}),
            at,
        )

    def _put_call(self, draft: SpanDraft, at: datetime | None) -> None:
        self._work()
        if draft.key is None or self._reader.find(draft.key) is None:
            self._reader.put(draft, at)

    def _output(self, item: Item, at: datetime | None) -> None:
        key = text(item.get("call_id"))
        call = self._reader.find(self._running.get(key, key))
        if call is None or call.status != "started":
            return
        result = outcome(item.get("output"))
        if result.running is not None and call.key:
            self._running[result.running] = call.key
        self._reader.put(finished(call, result), at)

    def _call_end(self, event: Item, at: datetime | None) -> None:
        """The end of a call as the screen saw it; the call itself may have been seen already."""
        draft, result = ended_call(event)
        known = self._reader.find(draft.key) if draft.key else None
        if known is not None and known.status != "started":
            return
        self._work()
        self._reader.put(finished(known or draft, result), at)

    # --- where turns begin and end

    def _work(self) -> None:
        """Work after the end of a turn and before the start of the next still belongs to it."""
        if not self._started and self._reader.open_turn is None:
            self._reader.reopen()

    def _start(self, _: Item, __: datetime | None) -> None:
        self._started = True
        self._reader.close()
        self._prompt_side = None
        self._new_turn()

    def _new_turn(self) -> None:
        self._before = dict(self._total)
        for side in self._said.values():
            side.clear()

    def _complete(self, event: Item, at: datetime | None) -> None:
        last = text(event.get("last_agent_message"))
        if (
            last.strip()
            and (turn := self._reader.open_turn) is not None
            and (turn.answer or "").strip() != last.strip()
        ):
            self._say("screen", "agent_message", last, at)
        self._reader.close(at)
        self._started = False

    def _aborted(self, event: Item, at: datetime | None) -> None:
        if self._reader.open_turn is not None:
            self._reader.fail("interrupted", text(event.get("reason")) or "interrupted", at)
        self._reader.close(at)
        self._started = False

    def _error(self, event: Item, at: datetime | None) -> None:
        self._work()
        message = text(event.get("message"))
        self._reader.put(SpanDraft(kind="error", status="failed", text=message), at)
        self._reader.fail("bad_answer", message, at)

    def _tokens(self, event: Item, _: datetime | None) -> None:
        """Codex counts over the whole session; a turn's share is what the count grew by."""
        total = counts(mapping(event.get("info")).get("total_token_usage"))
        turn = self._reader.turns[-1] if self._reader.turns else None
        if not total or turn is None:
            return
        if any(count < self._before.get(name, 0) for name, count in total.items()):
            self._before = {}
        turn.usage = {name: count - self._before.get(name, 0) for name, count in total.items()}
        self._total = total
