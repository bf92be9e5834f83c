"""What approving a note would write: for each recipient the file, and the block in it, as landing renders it."""

from __future__ import annotations

from dataclasses import dataclass

from apps.ledger import clock
from apps.memory.models import Note, Recipient
from tikitaka.landing.blocks import render_block
from tikitaka.landing.files import INSTRUCTIONS_FILE, LandedNote, block_body, instructions_body, skill_file
from tikitaka.notes.contract import Severity
from tikitaka.safety import show_hidden

_HOW = {"existing": "joins a skill that is there", "new": "makes this skill", "collision": "the key belongs to another"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """One recipient's file and block; `file` is empty where the note has no place."""

    agent: str
    file: str
    how: str
    block: str


def previews(note: Note) -> list[Preview]:
    """In roster order; reads rows only and looks into no workspace."""
    rows = Recipient.objects.filter(note=note, verdict="granted").select_related("agent").order_by("agent__position")
    shown = LandedNote(
        id=note.pk,
        content=note.content,
        description=note.description,
        landed_at=clock.now(),
        expires_at=note.expires_at,
    )
    severe = note.severity == Severity.SEVERE
    body = instructions_body(shown) if severe else block_body(shown)
    block = show_hidden(render_block(note.pk, body))
    return [_preview(row, severe=severe, block=block) for row in rows]


def _preview(row: Recipient, *, severe: bool, block: str) -> Preview:
    agent = show_hidden(row.agent.name)
    if severe:
        return Preview(agent=agent, file=INSTRUCTIONS_FILE, how="at the top of the instructions", block=block)
    how = _HOW.get(row.placement, "has no place in this workspace")
    file = skill_file(row.placement_key) if row.placement in ("existing", "new") else ""
    return Preview(agent=agent, file=file, how=how, block=block)
