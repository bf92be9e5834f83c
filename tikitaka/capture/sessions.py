"""A session recorded elsewhere, in whichever form: found out by its lines, read whole, damaged lines named."""

from __future__ import annotations

import codecs
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.capture.claude_project import read_project
from tikitaka.capture.claude_stream import read_stream
from tikitaka.capture.codex_exec import read_exec
from tikitaka.capture.codex_rollout import read_rollout
from tikitaka.capture.plain import read_plain
from tikitaka.capture.shape import Item, decode_object, text
from tikitaka.capture.turns import DamagedLine, Form, ImportedTurn, NumberedLine, SessionReader
from tikitaka.errors import TikiTakaError
from tikitaka.text import clean_captured, cut

THREAD_ID_CHARS = 200
Refusal = Literal[
    "empty",
    "unknown_form",
    "no_turns",
    "helper_only",
    "not_json",
    "too_deep",
    "too_long",
    "too_many_spans",
    "too_many_turns",
]
_REFUSALS: Mapping[Refusal, str] = {
    "empty": "the file holds no line that could be read",
    "unknown_form": "no line belongs to a form that is known here",
    "no_turns": "the session holds no work",
    "not_json": "the traces are no JSON",
    "too_deep": "the traces are nested too deeply",
    "too_long": "the traces are too long to be read at once",
    "too_many_spans": "the traces hold too many spans; bring them in in parts",
    "too_many_turns": "one conversation holds too many turns to be brought in",
    "helper_only": "this is the file of a helper agent; bring in the file of the session that started it",
}
_READERS: Mapping[Form, Callable[[Iterable[NumberedLine], SessionReader], None]] = {
    "codex_exec": read_exec,
    "codex_rollout": read_rollout,
    "claude_stream": read_stream,
    "claude_project": read_project,
    "plain": read_plain,
}
_ROLLOUT = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_EXEC = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed"})
_CLAUDE = frozenset({"system", "assistant", "user", "result"})
_PLAIN = frozenset({"session", "prompt", "injected", "span", "message", "usage", "end"})


class UnreadableSession(TikiTakaError):
    """The file is no session that could be brought in; `code` says why."""

    code: Refusal

    def __init__(self, code: Refusal, damaged: Sequence[DamagedLine] = ()) -> None:
        self.damaged = tuple(damaged)
        super().__init__(_REFUSALS[code])
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """One recording of one thread. `thread_named` is False when the thread's own name was lost.

    `agent` is whose work it was by the recording's own words, where its form says that.
    """

    form: Form
    thread_id: str
    thread_named: bool
    turns: tuple[ImportedTurn, ...]
    damaged: tuple[DamagedLine, ...]
    agent: str = ""


def decode_lines(data: bytes) -> list[str]:
    """The lines of a file. Bytes that are no UTF-8 stay visible as lone surrogates, so that their line is named."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").split("\n")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").split("\n")


def detect_form(lines: Iterable[str]) -> Form | None:
    """The form to which most of the lines belong."""
    decoded = (decode_object(line) for line in lines if line.strip())
    return _form([line for line in decoded if isinstance(line, dict)])


def read_session(lines: Iterable[str], *, prompt: str | None = None) -> ImportedSession:
    """The session; raises UnreadableSession. `prompt` is what was asked, where the form does not say."""
    reader = SessionReader()
    lines = [line.strip() for line in lines]
    good = _decoded(lines, reader)
    if not good:
        raise UnreadableSession("empty", reader.damaged)
    form = _form([line for _, line in good])
    if form is None:
        raise UnreadableSession("unknown_form", reader.damaged)
    if form == "claude_project" and _helper_only(good):
        raise UnreadableSession("helper_only", reader.damaged)
    _READERS[form](good, reader)
    turns = reader.finish(prompt)
    damaged = tuple(sorted(reader.damaged, key=lambda line: line.number))
    if not turns:
        raise UnreadableSession("no_turns", damaged)
    named = cut(clean_captured(reader.thread_id), THREAD_ID_CHARS)
    return ImportedSession(
        form=form, thread_id=named or _unnamed(lines), thread_named=bool(named), turns=turns, damaged=damaged
    )


def _decoded(lines: Sequence[str], reader: SessionReader) -> list[NumberedLine]:
    good: list[NumberedLine] = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        escaped = any("\udc80" <= character <= "\udcff" for character in line) if not line.isascii() else False
        decoded = decode_object(clean_captured(line) if escaped else line)
        if not isinstance(decoded, dict):
            reader.damage(number, decoded)
            continue
        if escaped:
            reader.damage(number, "not_utf8")
        good.append((number, decoded))
    return good


def _form(lines: Iterable[Item]) -> Form | None:
    votes = Counter(form for form in map(_form_of, lines) if form is not None)
    return max(votes, key=lambda form: votes[form], default=None)


def _form_of(line: Item) -> Form | None:
    kind = text(line.get("type"))
    if kind in _ROLLOUT and "payload" in line:
        return "codex_rollout"
    if kind in _EXEC or (kind.startswith("item.") and "item" in line):
        return "codex_exec"
    if "sessionId" in line:
        return "claude_project"
    if kind in _CLAUDE and "session_id" in line:
        return "claude_stream"
    return "plain" if kind in _PLAIN else None


def _helper_only(lines: Iterable[NumberedLine]) -> bool:
    spoken = [line for _, line in lines if line.get("type") in ("user", "assistant")]
    return bool(spoken) and all(line.get("isSidechain") is True for line in spoken)


def _unnamed(lines: Sequence[str]) -> str:
    """A name from the content, so that the same file is still the same thread."""
    content = "\n".join(line for line in lines if line)
    return "content-" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
