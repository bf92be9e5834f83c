"""The session file that Claude Code keeps for a project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tikitaka.capture.claude_blocks import (
    INTERRUPTED,
    is_injected,
    is_slash_command,
    pieces_and_blocks,
    speech,
    take_assistant,
    take_result,
)
from tikitaka.capture.events import SpanDraft
from tikitaka.capture.shape import Item, counts, mapping, moment, pieces, strings, text
from tikitaka.capture.turns import NumberedLine, SessionReader, Turn, add_counts, joined

_NAMES = frozenset({"type", "id", "uuid", "names", "addedTypes", "removedTypes", "filename", "path", "commandMode"})


def read_project(lines: Iterable[NumberedLine], reader: SessionReader) -> None:
    """A session file from its first line to its last."""
    project = _Project(reader)
    for number, line in lines:
        project.take(number, line)
    project.settle()


class _Project:
    def __init__(self, reader: SessionReader) -> None:
        self._reader = reader
        self._seen: set[str] = set()
        self._lined_up: list[str] = []
        self._queued: str | None = None
        self._usage: dict[str, tuple[Turn, dict[str, int]]] = {}
        self._commands: list[Turn] = []

    def take(self, number: int, line: Item) -> None:
        """One line of the file; a line that was copied from the session before a resume is read once."""
        uuid, kind, at = text(line.get("uuid")), line.get("type"), moment(line.get("timestamp"))
        if uuid and uuid in self._seen:
            return
        self._seen.add(uuid)
        self._reader.name(text(line.get("sessionId")))
        message = line.get("message")
        if kind in ("user", "assistant") and not isinstance(message, Mapping):
            self._reader.damage(number, "wrong_shape")
        elif kind == "user":
            self._user(line, mapping(message), at)
        elif kind == "assistant":
            self._assistant(line, mapping(message), at)
        elif kind == "attachment":
            self._attachment(mapping(line.get("attachment")), at)
        elif kind == "queue-operation":
            self._queue(line)
        elif kind == "system" and line.get("subtype") == "api_error":
            detail = joined(strings(line.get("content"))) or joined(strings(line.get("error")))
            self._reader.put(SpanDraft(kind="error", status="failed", text=detail), at)
        elif kind == "last-prompt":
            self._fill(text(line.get("lastPrompt")))

    def settle(self) -> None:
        """Token counts of each message once; commands that only steered the program were no work."""
        for turn, usage in self._usage.values():
            add_counts(turn.usage, usage)
        for turn in self._commands:
            if not turn.spans and turn.prompt:
                self._reader.drop(turn)

    def _user(self, line: Item, message: Item, at: datetime | None) -> None:
        blocks = pieces_and_blocks(message.get("content"))
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            take_result(block, line.get("toolUseResult"), self._reader, at)
        said = [] if results and not _texts(blocks) else pieces(message.get("content"))
        if line.get("isSidechain") is True or not said:
            return
        if any(piece.startswith(INTERRUPTED) for piece in said):
            self._reader.fail("interrupted", joined(said), at)
        elif results or line.get("isMeta") is True or line.get("isCompactSummary") is True:
            for piece in said:
                self._reader.inject(piece)
        else:
            self._prompt(said, at)

    def _prompt(self, said: list[str], at: datetime | None) -> None:
        asked = []
        for piece in said:
            typed, reminders = speech(piece)
            asked.append(typed)
            for reminder in reminders:
                self._reader.inject(reminder)
        prompt = joined(asked)
        if not prompt:
            return
        self._queued = None
        turn = self._reader.begin(prompt, at)
        if any(is_slash_command(piece) for piece in said):
            self._commands.append(turn)

    def _assistant(self, line: Item, message: Item, at: datetime | None) -> None:
        aside = line.get("isSidechain") is True
        if self._queued is not None and not aside:
            self._reader.begin(self._queued, at)
            self._queued = None
        if line.get("isApiErrorMessage") is True:
            detail = joined(pieces(message.get("content")))
            self._reader.put(SpanDraft(kind="error", status="failed", text=detail), at)
            self._reader.fail("bad_answer", detail, at)
            return
        if message.get("model") == "<synthetic>":
            return
        take_assistant(message, self._reader, at, aside=aside)
        turn, usage = self._reader.open_turn, counts(message.get("usage"))
        if turn is not None and usage and not aside:
            self._usage[text(message.get("id")) or text(line.get("uuid"))] = (turn, usage)

    def _attachment(self, attachment: Item, at: datetime | None) -> None:
        """Everything here was put before the agent, but for what a person typed while it worked."""
        prompt = attachment.get("prompt")
        if attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt":
            said = [piece for piece in pieces(prompt) if not is_injected(piece)]
            if said:
                self._prompt(said, at)
                return
        kept = {name: value for name, value in attachment.items() if name not in _NAMES}
        self._reader.inject(joined(strings(kept)))

    def _queue(self, line: Item) -> None:
        """A prompt waits here for a moment; should its own line be damaged, this is what is left of it."""
        content, operation = text(line.get("content")), line.get("operation")
        if operation == "enqueue":
            self._lined_up.append(content)
        elif operation == "dequeue" and self._lined_up:
            first = self._lined_up.pop(0)
            self._queued = first if first.strip() and not is_injected(first) else None
        else:
            self._lined_up.clear()

    def _fill(self, prompt: str) -> None:
        turn = self._reader.turns[-1] if self._reader.turns else None
        if turn is not None and turn.prompt is None and prompt.strip():
            turn.prompt = prompt


def _texts(blocks: list[Item]) -> bool:
    return any(text(block.get("text")).strip() for block in blocks)
