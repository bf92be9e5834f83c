"""The note contract: what a distilled note must be, and what becomes of one that is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tikitaka.landing.keys import fold_skill_key
from tikitaka.policy import Policy
from tikitaka.replies import Readable, ReplyFault, as_index, read_reply
from tikitaka.text import clean_captured, cut, has_visible, one_line


class Severity(StrEnum):
    """Severe notes are always shown to their recipients once approved; normal ones when the runtime finds them apt."""

    NORMAL = "normal"
    SEVERE = "severe"


class NoteFault(StrEnum):
    """Why one note of a reply was dropped; the others stay."""

    SCHEMA = "schema"
    EMPTY_CONTENT = "empty_content"
    CONTENT_TOO_LONG = "content_too_long"
    EMPTY_DESCRIPTION = "empty_description"
    BAD_SKILL_KEY = "bad_skill_key"
    NO_PROVENANCE = "no_provenance"
    DUPLICATE = "duplicate"
    OVER_LIMIT = "over_limit"


class NoMemory(StrEnum):
    """Why a reply yielded no notes at all, where it is not a fault of reading."""

    SCHEMA = "schema"
    NO_DURABLE_NOTES = "no_durable_notes"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftNote:
    """A valid note with its citations as 1-based numbers of the attempts and spans that were offered."""

    content: str
    description: str
    skill_key: str
    severity: Severity
    rationale: str
    attempts: tuple[int, ...]
    spans: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Which note of the list (from 1) was dropped and why."""

    number: int
    reason: NoteFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """A reply that could be read as a list; `reason` is set when nothing of it stayed."""

    notes: tuple[DraftNote, ...]
    dropped: tuple[Dropped, ...]
    reason: NoMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotExtracted:
    """A reply that could not be read as a list of notes."""

    reason: ReplyFault | NoMemory


def parse_notes(
    body: Mapping[str, Any] | None, *, attempts: int, spans: int, policy: Policy
) -> Extracted | NotExtracted:
    """Reads a model's reply; `attempts` and `spans` are how many of each the request offered."""
    reply = read_reply(body, list_key="notes")
    if not isinstance(reply, Readable):
        return NotExtracted(reason=reply.reason)
    value = reply.value.get("notes") if isinstance(reply.value, Mapping) else reply.value
    if not isinstance(value, list):
        return NotExtracted(reason=NoMemory.SCHEMA)
    notes: list[DraftNote] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    for number, raw in enumerate(value, start=1):
        note = parse_note(raw, attempts=attempts, spans=spans, policy=policy)
        if isinstance(note, DraftNote) and content_key(note.content) in seen:
            note = NoteFault.DUPLICATE
        if isinstance(note, DraftNote) and len(notes) >= policy.notes_per_flush_max:
            note = NoteFault.OVER_LIMIT
        if isinstance(note, DraftNote):
            seen.add(content_key(note.content))
            notes.append(note)
        else:
            dropped.append(Dropped(number=number, reason=note))
    return Extracted(notes=tuple(notes), dropped=tuple(dropped), reason=None if notes else NoMemory.NO_DURABLE_NOTES)


def parse_note(raw: Any, *, attempts: int, spans: int, policy: Policy) -> DraftNote | NoteFault:
    """One note; whom the model names as recipient is never read."""
    if not isinstance(raw, Mapping):
        return NoteFault.SCHEMA
    content = raw.get("content")
    if content is not None and not isinstance(content, str):
        return NoteFault.SCHEMA
    content = clean_captured(content or "").strip()
    if not has_visible(content):
        return NoteFault.EMPTY_CONTENT
    if len(content) > policy.note_content_chars:
        return NoteFault.CONTENT_TOO_LONG
    description = one_line(clean_captured(_text(raw.get("description"))))
    if not has_visible(description):
        return NoteFault.EMPTY_DESCRIPTION
    key = fold_skill_key(_text(raw.get("skillKey")), content=content)
    if key is None:
        return NoteFault.BAD_SKILL_KEY
    cited = _citations(raw.get("sourceRunIndices"), attempts)
    if not cited:
        return NoteFault.NO_PROVENANCE
    return DraftNote(
        content=content,
        description=cut(description, policy.note_description_chars),
        skill_key=key,
        severity=_severity(raw.get("severity")),
        rationale=cut(clean_captured(_text(raw.get("rationale"))), policy.note_rationale_chars),
        attempts=cited,
        spans=_citations(raw.get("sourceSpanIndices"), spans),
    )


def content_key(content: str) -> str:
    """What two contents are compared by inside one reply: case and white space folded."""
    return " ".join(content.casefold().split())


def _severity(raw: Any) -> Severity:
    """Unknown or missing is severe: that fails towards review."""
    return Severity.NORMAL if isinstance(raw, str) and raw.strip().lower() == "normal" else Severity.SEVERE


def _citations(raw: Any, offered: int) -> tuple[int, ...]:
    if not isinstance(raw, list):
        return ()
    found: list[int] = []
    for item in raw:
        index = as_index(item)
        if index is not None and 1 <= index <= offered and index not in found:
            found.append(index)
    return tuple(found)


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else ""
