"""Our own form for sessions of any other program: one small JSON object a line. docs/import.md describes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, get_args

from tikitaka.capture.events import SpanDraft, SpanKindName, SpanStatusName
from tikitaka.capture.shape import Item, counts, integer, moment, objects, text
from tikitaka.capture.turns import NumberedLine, SessionReader, add_counts

_KINDS: tuple[SpanKindName, ...] = get_args(SpanKindName)
_STATUSES: tuple[SpanStatusName, ...] = get_args(SpanStatusName)


def read_plain(lines: Iterable[NumberedLine], reader: SessionReader) -> None:
    """A session from its first line to its last; a line that says less than its type needs is damaged."""
    for number, line in lines:
        read = _READERS.get(text(line.get("type")))
        fault = read(line, moment(line.get("at")), reader) if read is not None else None
        if fault is not None:
            reader.damage(number, fault)


def _session(line: Item, _: datetime | None, reader: SessionReader) -> str | None:
    if not text(line.get("thread_id")).strip():
        return "no_thread_id"
    return None if reader.name(text(line["thread_id"])) else "another_thread"


def _prompt(line: Item, at: datetime | None, reader: SessionReader) -> str | None:
    if not text(line.get("text")).strip():
        return "no_text"
    turn = reader.begin(text(line["text"]), at)
    turn.ended_at = at
    return None


def _injected(line: Item, _: datetime | None, reader: SessionReader) -> str | None:
    reader.inject(text(line.get("text")))
    return None if text(line.get("text")).strip() else "no_text"


def _message(line: Item, at: datetime | None, reader: SessionReader) -> str | None:
    if not text(line.get("text")).strip():
        return "no_text"
    reader.put(SpanDraft(kind="agent_message", text=text(line["text"])), at)
    return None


def _span(line: Item, at: datetime | None, reader: SessionReader) -> str | None:
    kind = next((known for known in _KINDS if known == line.get("kind")), None)
    status = next((known for known in _STATUSES if known == line.get("status", "completed")), None)
    if kind is None or status is None:
        return "unknown_kind" if kind is None else "unknown_status"
    draft = SpanDraft(
        kind=kind,
        status=status,
        key=text(line.get("key")) or None,
        text=_shown(kind, line),
        data=_data(kind, line),
        injected=line.get("injected") is True,
    )
    if not draft.text.strip():
        return "no_text"
    reader.put(draft, at, spoken=not draft.injected)
    return None


def _shown(kind: SpanKindName, line: Item) -> str:
    said = text(line.get("text"))
    if kind == "command" and text(line.get("command")):
        return f"$ {text(line['command'])}\n{said}".rstrip("\n")
    if kind == "file_change" and not said:
        return "\n".join(f"{change['kind']} {change['path']}" for change in _changes(line))
    return said


def _data(kind: SpanKindName, line: Item) -> dict[str, Any]:
    if kind == "command":
        return {"command": text(line.get("command")), "exit_code": integer(line.get("exit_code"))}
    if kind == "file_change":
        return {"changes": _changes(line)}
    return {"tool": text(line.get("tool"))} if kind == "tool_call" else {}


def _changes(line: Item) -> list[dict[str, str]]:
    return [
        {"path": text(change.get("path")), "kind": text(change.get("kind")) or "update"}
        for change in objects(line.get("changes"))
    ]


def _usage(line: Item, at: datetime | None, reader: SessionReader) -> str | None:
    add_counts(reader.current(at).usage, counts(line.get("counts")))
    return None if isinstance(line.get("counts"), Mapping) else "no_counts"


def _end(line: Item, at: datetime | None, reader: SessionReader) -> str | None:
    status, detail = line.get("status", "completed"), text(line.get("detail"))
    if status not in ("completed", "failed", "interrupted"):
        return "unknown_status"
    if status != "completed":
        reader.fail("interrupted" if status == "interrupted" else "bad_answer", detail, at)
    reader.close(at)
    return None


_READERS: Mapping[str, Callable[[Item, datetime | None, SessionReader], str | None]] = {
    "session": _session,
    "prompt": _prompt,
    "injected": _injected,
    "span": _span,
    "message": _message,
    "usage": _usage,
    "end": _end,
}
