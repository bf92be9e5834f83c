"""Tool calls of a Codex session file as spans in the words of `codex exec --json`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tikitaka.capture.events import SpanDraft, SpanStatusName
from tikitaka.capture.shape import Item, arguments, compact, integer, mapping, objects, pieces, text
from tikitaka.capture.turns import joined

_COMMANDS = frozenset(
    {"exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec", "unified_exec_command"}
)
_EXIT = re.compile(r"(?:Process exited with code|Exit code:?|exited with code) (-?\d{1,9})")
_RUNNING = re.compile(r"Process running with session ID (\d{1,18})")
_REFUSED = re.compile(
    r"(?:tool call error|execution error|exec_command failed|failed|error|err:|unsupported|aborted|rejected|denied"
    r"|command timed out|timeout|sandbox|unknown|apply_patch verification failed|invalid|no such tool|cancelled)",
    re.IGNORECASE,
)
_SHELL = re.compile(r"^\S{0,100}\b(?:ba|z|da)?sh -[a-z]{0,4}c [\"']?")
_PATCH_LINE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATCH_KINDS = {"Add": "add", "Update": "update", "Delete": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came back from a call: its text, and its exit code and success as far as they are said."""

    text: str
    exit_code: int | None = None
    success: bool | None = None
    running: str | None = None


def call_span(name: str, given: Any, *, key: str | None, namespace: str = "") -> SpanDraft:
    """A call that has been made and whose result is not known yet."""
    given = arguments(given)
    if name in _COMMANDS:
        return _command_or_patch(command_line(given), key)
    if name == "apply_patch":
        return patch_span(given if isinstance(given, str) else text(mapping(given).get("input")), key=key)
    if name == "update_plan":
        steps = objects(mapping(given).get("plan"))
        lines = [f"[{'x' if step.get('status') == 'completed' else ' '}] {text(step.get('step'))}" for step in steps]
        return SpanDraft(kind="reasoning", key=key, text="\n".join(lines))
    tool = tool_name(f"{namespace}__{name}" if namespace else name)
    return SpanDraft(
        kind="tool_call", key=key, status="started", text=f"{tool} {compact(given or {})}", data={"tool": tool}
    )


def tool_name(name: str) -> str:
    """`mcp__server__tool` as `server.tool`, any other name as it is."""
    parts = [part for part in name.removeprefix("mcp__").split("__", 1) if part]
    return ".".join(parts) if name.startswith("mcp__") else name


def command_line(given: Any) -> str:
    """The command of a call, whichever way its arguments say it."""
    if isinstance(given, str):
        return given
    fields = mapping(given)
    command = fields.get("cmd", fields.get("command"))
    if isinstance(command, list):
        return unwrapped(shlex.join(part for part in command if isinstance(part, str)))
    return text(command)


def unwrapped(command: str) -> str:
    """What a shell was started for: `bash -lc 'ls'` is `ls`."""
    try:
        parts = shlex.split(command)
    except ValueError:
        return _SHELL.sub("", command)
    shell = len(parts) == 3 and parts[0].rsplit("/", 1)[-1] in {"sh", "bash", "zsh", "dash"}
    return parts[2] if shell and re.fullmatch(r"-[a-z]*c", parts[1]) else command


def patch_span(patch: str, *, key: str | None) -> SpanDraft:
    """The files that a patch names."""
    changes = [{"path": path.strip(), "kind": _PATCH_KINDS[word]} for word, path in _PATCH_LINE.findall(patch)]
    return change_span(changes, key=key, status="started")


def change_span(changes: list[dict[str, str]], *, key: str | None, status: SpanStatusName) -> SpanDraft:
    """A change of files by path and kind."""
    lines = [f"{change['kind']} {change['path']}" for change in changes]
    return SpanDraft(kind="file_change", key=key, status=status, text="\n".join(lines), data={"changes": changes})


def outcome(output: Any) -> Outcome:
    """A call's result in any of the ways in which versions of Codex have written it."""
    decoded = arguments(output)
    if isinstance(decoded, Mapping):
        said = decoded.get("output", decoded.get("content"))
        body = said if isinstance(said, str) else joined(pieces(said)) or ("" if said else compact(dict(decoded)))
        code = integer(mapping(decoded.get("metadata")).get("exit_code", decoded.get("exit_code")))
        refused = any(decoded.get(name) is True for name in ("isError", "is_error"))
        success = decoded.get("success") if isinstance(decoded.get("success"), bool) else None
        inner = _said(body)
        return replace(
            inner,
            exit_code=code if code is not None else inner.exit_code,
            success=False if refused else success if success is not None else inner.success,
        )
    return _said(decoded if isinstance(decoded, str) else joined(pieces(decoded)))


def finished(call: SpanDraft, result: Outcome) -> SpanDraft:
    """The call with its result."""
    if result.running is not None:
        return replace(call, text=_with(call.text, result.text))
    status: SpanStatusName = "completed" if _succeeded(call, result) else "failed"
    if call.kind == "command":
        data = {**call.data, "exit_code": result.exit_code}
        return replace(call, status=status, text=_with(call.text, result.text), data=data)
    if call.kind == "file_change" and status == "completed":
        return replace(call, status=status)
    return replace(call, status=status, text=_with(call.text, result.text))


def ended_call(event: Item) -> tuple[SpanDraft, Outcome]:
    """A call and its result as the screen was told of them in one event."""
    key = text(event.get("call_id")) or None
    if event.get("type") == "exec_command_end":
        shown = text(event.get("aggregated_output")) or text(event.get("stdout")) + text(event.get("stderr"))
        draft = call_span("shell", {"command": event.get("command")}, key=key)
        return draft, Outcome(text=shown, exit_code=integer(event.get("exit_code")))
    if event.get("type") == "patch_apply_end":
        changes = [
            {"path": path, "kind": text(mapping(change).get("type")) or next(iter(mapping(change)), "update")}
            for path, change in mapping(event.get("changes")).items()
        ]
        shown = text(event.get("stderr")) or text(event.get("stdout"))
        draft = change_span(changes, key=key, status="started")
        return draft, Outcome(text=shown, success=event.get("success") is not False)
    call, result = mapping(event.get("invocation")), mapping(event.get("result"))
    good = mapping(result.get("Ok"))
    success = "Err" not in result and good.get("isError") is not True
    draft = call_span(f"mcp__{text(call.get('server'))}__{text(call.get('tool'))}", call.get("arguments"), key=key)
    return draft, Outcome(text=text(result.get("Err")) or joined(pieces(good.get("content"))), success=success)


def _command_or_patch(command: str, key: str | None) -> SpanDraft:
    if re.match(r"\s*(?:cd [^\n]{1,500} && )?apply_?patch\b", command) and "*** Begin Patch" in command:
        return patch_span(command, key=key)
    return SpanDraft(kind="command", key=key, status="started", text=f"$ {command}", data={"command": command})


def _succeeded(call: SpanDraft, result: Outcome) -> bool:
    if result.success is not None:
        return result.success
    if result.exit_code is not None:
        return result.exit_code == 0
    if call.kind == "file_change":
        return not result.text.strip() or result.text.lstrip().startswith(("Success", "Done"))
    return not _REFUSED.match(result.text.lstrip())


def _said(output: str) -> Outcome:
    """Code and text of an output with the header that Codex writes above it."""
    head, mark, rest = output.partition("Output:\n")
    header = head if mark else output[:400]
    exit_code, running = _EXIT.search(header), _RUNNING.search(header)
    known = mark and (exit_code or running or "Wall time" in head)
    return Outcome(
        text=rest if known else output,
        exit_code=int(exit_code.group(1)) if exit_code else None,
        running=running.group(1) if running and not exit_code else None,
    )


def _with(shown: str, result: str) -> str:
    return f"{shown}\n{result}".rstrip("\n")
