"""The vocabulary of `codex exec --json`, which is also the form in which any program may speak to us."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tikitaka.capture.events import CaptureEvent, SpanDraft, SpanStatusName, ThreadStarted, TurnFailed, Usage
from tikitaka.capture.shape import Item, compact, counts, decode_object, integer, objects
from tikitaka.capture.shape import text as _text
from tikitaka.capture.turns import NumberedLine, SessionReader, add_counts


def parse_line(line: str) -> list[CaptureEvent]:
    """The events of one line; a line that is no JSON object is kept as an error span, unknown types yield nothing."""
    text = line.strip()
    if not text:
        return []
    event = decode_object(text)
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
        return [Usage(counts=counts(event.get("usage")))]
    if kind == "turn.failed":
        error = event.get("error")
        return [TurnFailed(detail=_text(error.get("message")) if isinstance(error, Mapping) else "")]
    if kind == "error":
        return [SpanDraft(kind="error", status="failed", text=_text(event.get("message")))]
    return []


def read_exec(lines: Iterable[NumberedLine], reader: SessionReader) -> None:
    """A recorded output. Ids of items are counted anew in each turn; what was asked is not in it."""
    for number, event in lines:
        kind = event.get("type")
        if kind == "turn.started" and reader.turns and reader.turns[-1].closed:
            reader.forget_keys()
        if _text(kind).startswith("item.") and not isinstance(event.get("item"), Mapping):
            reader.damage(number, "wrong_shape")
        for found in parse_event(event):
            _take(found, number, reader)
        if kind in ("turn.completed", "turn.failed"):
            reader.close()


def _take(found: CaptureEvent, number: int, reader: SessionReader) -> None:
    if isinstance(found, SpanDraft):
        reader.put(found)
    elif isinstance(found, ThreadStarted):
        if not reader.name(found.thread_id):
            reader.damage(number, "another_thread")
    elif isinstance(found, Usage):
        add_counts(reader.current(None).usage, found.counts)
    else:
        reader.fail("bad_answer", found.detail)


def _item(item: Item, *, done: bool) -> list[CaptureEvent]:
    reader = _READERS.get(_text(item.get("type")))
    if reader is None:
        return []
    draft = reader(item, _status(item, done=done))
    return [draft] if draft is not None else []


def _status(item: Item, *, done: bool) -> SpanStatusName:
    if item.get("status") in ("failed", "declined"):
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
        data={"command": command, "exit_code": integer(item.get("exit_code"))},
    )


def _file_change(item: Item, status: SpanStatusName) -> SpanDraft:
    listed = objects(item.get("changes"))
    lines = [f"{_text(change.get('kind')) or 'change'} {_text(change.get('path'))}" for change in listed]
    data = {"changes": [{"path": _text(c.get("path")), "kind": _text(c.get("kind"))} for c in listed]}
    return SpanDraft(kind="file_change", key=_key(item), status=status, text="\n".join(lines), data=data)


def _tool_call(item: Item, status: SpanStatusName) -> SpanDraft:
    name = f"{_text(item.get('server'))}.{_text(item.get('tool'))}".strip(".")
    parts = [f"{name} {compact(item.get('arguments') or {})}"]
    error, result = item.get("error"), item.get("result")
    if isinstance(error, Mapping):
        parts.append(f"error: {_text(error.get('message'))}")
    elif result is not None:
        parts.append(compact(result))
    return SpanDraft(kind="tool_call", key=_key(item), status=status, text="\n".join(parts), data={"tool": name})


def _web_search(item: Item, status: SpanStatusName) -> SpanDraft:
    call = compact({"query": _text(item.get("query"))})
    return SpanDraft(
        kind="tool_call", key=_key(item), status=status, text=f"web_search {call}", data={"tool": "web_search"}
    )


def _todo_list(item: Item, status: SpanStatusName) -> SpanDraft:
    lines = [
        f"[{'x' if entry.get('completed') else ' '}] {_text(entry.get('text'))}" for entry in objects(item.get("items"))
    ]
    return SpanDraft(kind="reasoning", key=_key(item), status=status, text="\n".join(lines))


def _error(item: Item, _: SpanStatusName) -> SpanDraft:
    return SpanDraft(kind="error", key=_key(item), status="failed", text=_text(item.get("message")))


_READERS: Mapping[str, Callable[[Item, SpanStatusName], SpanDraft | None]] = {
    "reasoning": _reasoning,
    "agent_message": _message,
    "command_execution": _command,
    "file_change": _file_change,
    "mcp_tool_call": _tool_call,
    "web_search": _web_search,
    "todo_list": _todo_list,
    "error": _error,
}
