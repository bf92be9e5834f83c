"""Notes on their way, made through the services of the product."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from apps.conductor.story import land
from apps.memory.models import Note, Recipient
from apps.memory.services.notes import note_digest
from apps.memory.services.review import NoteText, approve, edit, write_note
from tests.support.cast import Cast
from tikitaka.notes.contract import Severity

RULE = "Upload limits are enforced by the gateway, never by the form."


def proposed(
    cast: Cast,
    content: str = RULE,
    *,
    to: Sequence[str] = ("backend",),
    severe: bool = False,
    key: str = "upload-limits",
    description: str = "When you touch uploads",
) -> Note:
    """A waiting note written by the owner for exactly the agents `to`."""
    text = NoteText(
        content=content,
        description=description,
        skill_key=key,
        severity=Severity.SEVERE if severe else Severity.NORMAL,
    )
    note = write_note(actor=cast.owner, team=cast.team, text=text, policy=settings.TIKITAKA_POLICY)
    wanted = {cast.agents[name].pk for name in to}
    return edit(
        actor=cast.owner,
        note=note,
        shown_digest=note.content_digest,
        policy=settings.TIKITAKA_POLICY,
        recipients=wanted,
    )


def approved(cast: Cast, content: str = RULE, **options) -> Note:
    note = proposed(cast, content, **options)
    return approve(actor=cast.reviewer, note=note, shown_digest=note_digest(note))


def landed(cast: Cast, content: str = RULE, **options) -> Note:
    """A note that is active for the agents `to`."""
    note = approved(cast, content, **options)
    land(note.pk)
    note.refresh_from_db()
    assert note.status == "active", note.landing_fault
    return note


def verdicts(note: Note) -> dict[str, tuple[str, str]]:
    rows = Recipient.objects.filter(note=note).select_related("agent")
    return {row.agent.name.lower(): (row.verdict, row.reason) for row in rows}
