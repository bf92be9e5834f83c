"""The vocabulary of `codex exec --json`, which is also the form in which any program may speak to us."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tikitaka.capture.events import CaptureEvent, SpanDraft, SpanStatusName, ThreadStarted, TurnFailed, Usage

Item = Mapping[str, Any]


def parse_line(line: str) -> list[CaptureEvent]:
    """The events of one line; a line that is no JSON object is kept as an error span, unknown types yield nothing."""
    text = line.strip()
    if not text:
        return []
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        return [SpanDraft(kind="error", status="failed", text=text, data={"reason": "not_json"})]
    return parse_event(event)


def parse_event(event: Item) -> list[CaptureEvent]:
    """The events of one decoded line."""
    kind = event.get("type")
    if kind == "thread.started":
        return [ThreadStarted(thread_id=_text(event.get("thread_id")))]
    if kind in ("item.started", "item.updated", "item.completed"):
        item = event.get("item")
        return _item(item, done=kind == "item.completed") if isinstance(item, Mapping) else []
    if kind == "turn.completed":
        usage = event.get("usage")
        counts = {k: v for k, v in usage.items() if isinstance(v, int)} if isinstance(usage, Mapping) else {}
        return [Usage(counts=counts)]
    if kind == "turn.failed":
        error = event.get("error")
        return [TurnFailed(detail=_text(error.get("message")) if isinstance(error, Mapping) else "")]
    if kind == "error":
        return [SpanDraft(kind="error", status="failed", text=_text(event.get("message")))]
    return []


def _item(item: Item, *, done: bool) -> list[CaptureEvent]:
    reader = _READERS.get(_text(item.get("type")))
    if reader is None:
        return []
    draft = reader(item, _status(item, done=done))
    return [draft] if draft is not None else []


def _status(item: Item, *, done: bool) -> SpanStatusName:
    if item.get("status") == "failed":
        return "failed"
    return "completed" if done else "started"


def _key(item: Item) -> str | None:
    return _text(item.get("id")) or None


def _reasoning(item: Item, status: SpanStatusName) -> SpanDraft:
    return SpanDraft(kind="reasoning", key=_key(item), status=status, text=_text(item.get("text")))


def _message(item: Item, status: SpanStatusName) -> SpanDraft:
    return SpanDraft(kind="agent_message", key=_key(item), status=status, text=_text(item.get("text")))


def _command(item: Item, status: SpanStatusName) -> SpanDraft:
    command, output = _text(item.get("command")), _text(item.get("aggregated_output"))
    return SpanDraft(
        kind="command",
        key=_key(item),
        status=status,
        text=f"$ {command}\n{output}".rstrip("\n"),
        data={"command": command, "exit_code": item.get("exit_code")},
    )


def _file_change(item: Item, status: SpanStatusName) -> SpanDraft:
    changes = item.get("changes")
    listed = [change for change in changes if isinstance(change, Mapping)] if isinstance(changes, list) else []
    lines = [f"{_text(change.get('kind')) or 'change'} {_text(change.get('path'))}" for change in listed]
    data = {"changes": [{"path": _text(c.get("path")), "kind": _text(c.get("kind"))} for c in listed]}
    return SpanDraft(kind="file_change", key=_key(item), status=status, text="\n".join(lines), data=data)


def _tool_call(item: Item, status: SpanStatusName) -> SpanDraft:
    name = f"{_text(item.get('server'))}.{_text(item.get('tool'))}".strip(".")
    parts = [f"{name} {json.dumps(item.get('arguments') or {}, ensure_ascii=False, sort_keys=True)}"]
    error, result = item.get("error"), item.get("result")
    if isinstance(error, Mapping):
        parts.append(f"error: {_text(error.get('message'))}")
    elif result is not None:
        parts.append(json.dumps(result, ensure_ascii=False, sort_keys=True))
    return SpanDraft(kind="tool_call", key=_key(item), status=status, text="\n".join(parts), data={"tool": name})


def _todo_list(item: Item, status: SpanStatusName) -> SpanDraft:
    items = item.get("items")
    listed = [entry for entry in items if isinstance(entry, Mapping)] if isinstance(items, list) else []
    lines = [f"[{'x' if entry.get('completed') else ' '}] {_text(entry.get('text'))}" for entry in listed]
    return SpanDraft(kind="reasoning", key=_key(item), status=status, text="\n".join(lines))


def _error(item: Item, _: SpanStatusName) -> SpanDraft:
    return SpanDraft(kind="error", key=_key(item), status="failed", text=_text(item.get("message")))


_READERS: Mapping[str, Callable[[Item, SpanStatusName], SpanDraft | None]] = {
    "reasoning": _reasoning,
    "agent_message": _message,
    "command_execution": _command,
    "file_change": _file_change,
    "mcp_tool_call": _tool_call,
    "todo_list": _todo_list,
    "error": _error,
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
