"""Managed blocks: our text between two marker lines in a file that may hold other text too.

Putting a block in and taking it out again gives back the file byte for byte; a file whose markers are not exactly
ordered, standalone pairs is refused and left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

_MARKER = re.compile(r"^<!-- (/?)memory:([0-9a-f-]{36}) -->\r?$", re.MULTILINE)


class BlockFault(StrEnum):
    """What is wrong with the markers of a file."""

    ORPHAN = "orphan_marker"
    NESTED = "nested_marker"
    DUPLICATE = "duplicate_block"
    ABSENT = "block_absent"
    CHANGED = "block_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block as it stands in a text: `start` and `end` enclose markers and line ends, `body` is what lies between."""

    note: UUID
    start: int
    end: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlocksRefused:
    """The file cannot be worked on; nothing was changed."""

    reason: BlockFault


def neutralized(content: str) -> str:
    """Note text that can be no marker and no HTML comment: comment brackets are written as entities."""
    return content.replace("<!--", "&lt;!--").replace("-->", "--&gt;").replace("\r\n", "\n").replace("\r", "\n")


def has_markers(text: str) -> bool:
    """Whether a line of the text could be taken for a marker of ours."""
    return _MARKER.search(text) is not None


def find_blocks(text: str) -> tuple[Block, ...] | BlocksRefused:
    """All blocks of a text, in order."""
    found: list[Block] = []
    seen: set[UUID] = set()
    open_note: UUID | None = None
    open_start = body_start = 0
    for marker in _MARKER.finditer(text):
        start, end = marker.span()
        note = _uuid(marker.group(2))
        if not marker.group(1):
            if open_note is not None:
                return BlocksRefused(reason=BlockFault.NESTED)
            open_note, open_start, body_start = note, start, end + 1
            continue
        if open_note is None or note != open_note:
            return BlocksRefused(reason=BlockFault.ORPHAN)
        if open_note in seen:
            return BlocksRefused(reason=BlockFault.DUPLICATE)
        seen.add(open_note)
        body = text[body_start : max(body_start, start - 1)].replace("\r\n", "\n").removesuffix("\r")
        found.append(Block(note=open_note, start=open_start, end=min(end + 1, len(text)), body=body))
        open_note = None
    return BlocksRefused(reason=BlockFault.ORPHAN) if open_note is not None else tuple(found)


def put_block(text: str, note: UUID, body: str) -> str | BlocksRefused:
    """The text with the block of `note`: replaced where it stands, else appended. `body` must be neutralized."""
    blocks = find_blocks(text)
    if isinstance(blocks, BlocksRefused):
        return blocks
    newline = _newline(text)
    block = render_block(note, body, newline=newline)
    for present in blocks:
        if present.note == note:
            return text[: present.start] + block + text[present.end :]
    # One bare line feed, whatever the file uses: it is what remove_block takes away again.
    return text + ("\n" if text else "") + block


def remove_block(text: str, note: UUID) -> str | BlocksRefused:
    """The text without the block of `note`; a text without it comes back as it is."""
    blocks = find_blocks(text)
    if isinstance(blocks, BlocksRefused):
        return blocks
    for present in blocks:
        if present.note == note:
            return text[: present.start].removesuffix("\n") + text[present.end :]
    return text


def render_block(note: UUID, body: str, *, newline: str = "\n") -> str:
    """Markers and body, with a line end after the closing marker."""
    lines = [f"<!-- memory:{note} -->", *body.split("\n"), f"<!-- /memory:{note} -->", ""]
    return newline.join(lines)


def _newline(text: str) -> str:
    crlf = text.count("\r\n")
    return "\r\n" if crlf > text.count("\n") - crlf else "\n"


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)
