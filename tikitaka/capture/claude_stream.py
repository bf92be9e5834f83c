"""The output of Claude Code with `--output-format stream-json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tikitaka.capture.claude_blocks import (
    INTERRUPTED,
    pieces_and_blocks,
    speech,
    take_assistant,
    take_result,
)
from tikitaka.capture.events import SpanDraft
from tikitaka.capture.shape import Item, counts, moment, strings, text
from tikitaka.capture.turns import NumberedLine, SessionReader, joined


def read_stream(lines: Iterable[NumberedLine], reader: SessionReader) -> None:
    """An output from its first line to its last; each `result` ends a turn."""
    seen: set[str] = set()
    for number, line in lines:
        uuid = text(line.get("uuid"))
        if uuid and uuid in seen:
            continue
        seen.add(uuid)
        if not reader.name(text(line.get("session_id"))):
            reader.damage(number, "another_thread")
        kind, message = line.get("type"), line.get("message")
        if kind == "result":
            _end(line, reader)
        elif kind in ("assistant", "user") and not isinstance(message, Mapping):
            reader.damage(number, "wrong_shape")
        elif kind == "assistant" and isinstance(message, Mapping):
            aside = line.get("parent_tool_use_id") is not None
            take_assistant(message, reader, moment(line.get("timestamp")), aside=aside)
        elif kind == "user" and isinstance(message, Mapping):
            _take_user(line, message, reader)


def _take_user(line: Item, message: Item, reader: SessionReader) -> None:
    """Results of calls; text is a person's only where a turn can begin or the program says that it repeats input."""
    at, said = moment(line.get("timestamp")), []
    blocks = pieces_and_blocks(message.get("content"))
    for block in blocks:
        if block.get("type") == "tool_result":
            take_result(block, line.get("tool_use_result"), reader, at)
        elif text(block.get("text")).strip():
            said.append(text(block["text"]))
    if line.get("parent_tool_use_id") is not None or not said:
        return
    if any(piece.startswith(INTERRUPTED) for piece in said):
        reader.fail("interrupted", joined(said), at)
        return
    person = line.get("isReplay") is True or (reader.open_turn is None and line.get("isSynthetic") is not True)
    asked = []
    for piece in said:
        typed, reminders = speech(piece)
        asked.append(typed)
        for reminder in reminders if person else [piece]:
            reader.inject(reminder)
    if person and joined(asked):
        reader.begin(joined(asked), at)


def _end(line: Item, reader: SessionReader) -> None:
    turn = reader.current(None)
    turn.usage = counts(line.get("usage"))
    result = text(line.get("result"))
    if line.get("is_error") is True or text(line.get("subtype")).startswith("error"):
        detail = result or joined(strings(line.get("errors"))) or text(line.get("subtype"))
        reader.put(SpanDraft(kind="error", status="failed", text=detail))
        reader.fail("bad_answer", detail)
    elif result.strip() and (turn.answer or "").strip() != result.strip():
        reader.put(SpanDraft(kind="agent_message", text=result))
    reader.close()
