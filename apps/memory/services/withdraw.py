"""Taking notes back: by a person, at the end of their time, when an agent retires, when a task is resumed."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from apps.ledger.services import Recorder, recording
from apps.memory.models import Landing, Note, Recipient, Segment
from apps.memory.selectors import LIVE_LANDINGS
from apps.memory.services.landing.remove import request_removal
from apps.memory.services.notes import close_items, seal_digest
from apps.memory.services.recipients import assessed_rows, record_withheld
from tikitaka.errors import WrongState
from tikitaka.ledger.events import NoteExpired, NoteReset, NoteRevoked
from tikitaka.review.states import NoteStatus, NoteStep, next_status
from tikitaka.routing.reasons import WithholdReason


class NotRevocable(WrongState):
    """The note is in a state from which nothing can be taken back."""

    code = "not_revocable"


def withdraw_note(*, note: Note, step: NoteStep, reason: str, ledger: Recorder, words: str = "") -> None:
    """Ends a note and asks for the removal of everything that it landed; call with the note locked."""
    after = next_status(NoteStatus(note.status), step)
    if after is None:
        raise NotRevocable(f"the note is {note.status}", status=note.status)
    Note.objects.filter(pk=note.pk).update(status=after, landing_until=None)
    note.status = after.value
    live = Landing.objects.filter(note=note, status__in=LIVE_LANDINGS).values_list("pk", flat=True)
    request_removal(landings=list(live))
    close_items(note)
    if step is NoteStep.EXPIRE:
        ledger.record(NoteExpired(note=note.pk, team=note.team_id))
    else:
        ledger.record(NoteRevoked(note=note.pk, team=note.team_id, reason=reason, words=words))


def expire_note(*, note: UUID) -> bool:
    """Ends a note whose time is over; False when it is no longer active."""
    row = Note.objects.get(pk=note)
    with recording(row.organization_id) as ledger:
        locked = Note.objects.select_for_update().get(pk=note)
        if next_status(NoteStatus(locked.status), NoteStep.EXPIRE) is None:
            return False
        withdraw_note(note=locked, step=NoteStep.EXPIRE, reason="expired", ledger=ledger)
    return True


def withdraw_from_agents(*, agents: Collection[UUID], organization: UUID, ledger: Recorder) -> None:
    """Everything some agents hold or are about to hold, taken back; the notes stay with their other recipients.

    The notes are locked first and in one order: who lands or decides one of them has done so, or sees what is left.
    """
    open_states = [NoteStatus.PENDING, NoteStatus.QUARANTINED, NoteStatus.APPROVED, NoteStatus.ACTIVE]
    rows = Recipient.objects.filter(
        agent_id__in=agents,
        verdict="granted",
        note__organization_id=organization,
        note__status__in=[status.value for status in open_states],
    )
    list(Note.objects.select_for_update().filter(pk__in=rows.values("note_id")).order_by("pk").values_list("pk"))
    live = Landing.objects.filter(agent_id__in=agents, status__in=LIVE_LANDINGS)
    request_removal(landings=list(live.values_list("pk", flat=True)))
    for row in rows.select_related("note").order_by("agent__position", "note"):
        Recipient.objects.filter(pk=row.pk).update(
            verdict="withheld", reason=WithholdReason.AGENT_RETIRED.value, match_kind=""
        )
        gone = [item for item in assessed_rows(row.note) if item.agent == row.agent_id]
        record_withheld(row.note, gone, ledger)
        seal_digest(row.note)


def reset_segment_notes(*, segment: Segment, ledger: Recorder) -> list[UUID]:
    """Revokes the segment's automatic notes after a resume; whatever a person decided or wrote stays."""
    automatic = Note.objects.select_for_update().filter(
        segment=segment, decided_by__isnull=True, written_by__isnull=True, edited_by__isnull=True
    )
    reset = []
    for note in automatic.order_by("pk"):
        if next_status(NoteStatus(note.status), NoteStep.REVOKE) is not None:
            withdraw_note(note=note, step=NoteStep.REVOKE, reason="segment_resumed", ledger=ledger)
            ledger.record(NoteReset(note=note.pk, team=note.team_id, segment=segment.pk))
            reset.append(note.pk)
    return reset
