"""Content blocks of Claude Code's messages, which its output and its session file share."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

from tikitaka.capture.codex_calls import change_span, tool_name
from tikitaka.capture.events import SpanDraft, SpanStatusName
from tikitaka.capture.shape import Item, compact, mapping, objects, pieces, text
from tikitaka.capture.turns import SessionReader, joined

INTERRUPTED = "[Request interrupted by user"
_EDITS = {"Edit": "update", "MultiEdit": "update", "NotebookEdit": "update", "Write": "add"}
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,9})\n?")
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_COMMAND = re.compile(r"<command-(name|args)>([^<]*)</command-\1>")

# What Claude Code itself writes in the role of the user begins with one of these.
_INJECTED_STARTS = (
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<user-memory-input",
    "<user-prompt-submit-hook",
    "<teammate-message",
    "Caveat: The messages below were generated",
    "This session is being continued from a previous conversation",
    "Base directory for this skill:",
    "Stop hook feedback:",
)


def is_injected(piece: str) -> bool:
    """True for text in the role of the user that no person typed."""
    return piece.lstrip().startswith(_INJECTED_STARTS)


def speech(piece: str) -> tuple[str, list[str]]:
    """What a person typed, and the reminders that were put in beside it."""
    kept, reminders = [], []
    while (start := piece.find(_REMINDER)) >= 0:
        kept.append(piece[:start])
        inside, _, piece = piece[start + len(_REMINDER) :].partition(_REMINDER_END)
        reminders.append(inside.strip())
    said = "".join([*kept, piece]).strip()
    return ("" if is_injected(said) else _typed(said)), ([*reminders, said] if is_injected(said) else reminders)


def is_slash_command(piece: str) -> bool:
    """True for a command of the program itself, written in its own markup."""
    return piece.lstrip().startswith(("<command-name>", "<command-message>"))


def take_assistant(message: Item, reader: SessionReader, at: datetime | None, *, aside: bool) -> None:
    """Text, thoughts and calls of one message; `aside` for a helper agent, whose words answer no person."""
    for block in pieces_and_blocks(message.get("content")):
        kind = block.get("type")
        if kind == "text" and text(block.get("text")).strip():
            reader.put(_marked(SpanDraft(kind="agent_message", text=text(block["text"])), aside), at, spoken=not aside)
        elif kind == "thinking" and text(block.get("thinking")).strip():
            reader.put(_marked(SpanDraft(kind="reasoning", text=text(block["thinking"])), aside), at)
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            key = text(block.get("id")) or None
            if key is None or reader.find(key) is None:
                reader.put(_marked(_call(text(block.get("name")), mapping(block.get("input")), key), aside), at)
        elif text(kind).endswith("_tool_result"):
            take_result(block, None, reader, at)


def take_result(block: Item, more: Any, reader: SessionReader, at: datetime | None) -> None:
    """The result of a call; `more` is what the program noted beside it."""
    call = reader.find(text(block.get("tool_use_id")))
    if call is None or call.status != "started":
        return
    said, extra = joined(pieces(block.get("content"))), mapping(more)
    failed = block.get("is_error") is True or extra.get("interrupted") is True
    status: SpanStatusName = "failed" if failed else "completed"
    if call.kind == "file_change" and not failed:
        reader.put(replace(_confirmed(call, said, extra), status=status), at)
    elif call.kind == "reasoning":
        reader.put(replace(call, status=status), at)
    elif call.kind == "command":
        reader.put(_ended_command(call, said, status), at)
    else:
        reader.put(replace(call, status=status, text=f"{call.text}\n{said}".rstrip("\n")), at)


def pieces_and_blocks(content: Any) -> list[Item]:
    """Content as blocks, also where it is one string."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def _typed(said: str) -> str:
    """A command of the program as the person typed it."""
    if not is_slash_command(said):
        return said
    parts = dict(_COMMAND.findall(said))
    return f"{parts.get('name', '').strip()} {parts.get('args', '').strip()}".strip()


def _marked(draft: SpanDraft, aside: bool) -> SpanDraft:
    return replace(draft, data={**draft.data, "sidechain": True}) if aside else draft


def _call(name: str, given: Item, key: str | None) -> SpanDraft:
    if name == "Bash":
        command = text(given.get("command"))
        return SpanDraft(kind="command", key=key, status="started", text=f"$ {command}", data={"command": command})
    if name in _EDITS:
        path = text(given.get("file_path")) or text(given.get("notebook_path"))
        return change_span([{"path": path, "kind": _EDITS[name]}], key=key, status="started")
    if name == "TodoWrite":
        lines = [
            f"[{'x' if item.get('status') == 'completed' else ' '}] {text(item.get('content'))}"
            for item in objects(given.get("todos"))
        ]
        return SpanDraft(kind="reasoning", key=key, status="started", text="\n".join(lines))
    tool = tool_name(name)
    return SpanDraft(
        kind="tool_call", key=key, status="started", text=f"{tool} {compact(dict(given))}", data={"tool": tool}
    )


def _confirmed(call: SpanDraft, said: str, extra: Item) -> SpanDraft:
    """Whether a written file was new is known only from the result."""
    words = {"create": "add", "update": "update"}
    kind = words.get(text(extra.get("type"))) or ("update" if "has been updated" in said else None)
    if kind is None:
        return call
    changes = [{"path": text(change.get("path")), "kind": kind} for change in objects(call.data.get("changes"))]
    return replace(change_span(changes, key=call.key, status="completed"), data={**call.data, "changes": changes})


def _ended_command(call: SpanDraft, said: str, status: SpanStatusName) -> SpanDraft:
    exit_code = _EXIT.match(said) if status == "failed" else None
    data = {**call.data, "exit_code": int(exit_code.group(1)) if exit_code else (0 if status == "completed" else None)}
    output = said[exit_code.end() :] if exit_code else said
    return replace(call, status=status, text=f"{call.text}\n{output}".rstrip("\n"), data=data)
