"""A note's row, its recipients and its review item: saving, holding, and the digest that an approval is bound to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.rows import equal, instances
from apps.ledger.services import Recorder
from apps.ledger.sql import Statements, execute, execute_many
from apps.memory.models import Flush, Note, Recipient, ReviewItem, Segment
from apps.memory.services.assess import Assessed, AssessedRecipient
from apps.memory.services.recipients import deny_newcomers, record_withheld
from apps.teams.models import Team
from tikitaka.ledger.events import (
    NoteProposed,
    NoteQuarantined,
    NoteRedacted,
    ReviewItemOpened,
)
from tikitaka.notes.contract import Severity
from tikitaka.policy import Policy
from tikitaka.review.content_digest import DigestContent, DigestRecipient, content_digest
from tikitaka.review.states import NoteStatus
from tikitaka.review.triggers import NoteFacts, ReviewReason, review_reasons
from tikitaka.routing.reasons import WithholdReason
from tikitaka.text import digest

# Hand-written, since a flush writes dozens of them and the object mapper makes a statement anew each time.
_NEW_RECIPIENT = (
    "INSERT INTO memory_recipient (note_id, agent_id, verdict, reason, match_kind, score_bp, threshold_bp,"
    " placement, placement_key, placement_score_bp) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
PROPOSED = "proposed"
_CITED_ATTEMPT = "INSERT INTO memory_note_cited_attempts (note_id, attempt_id) VALUES (%s, %s)"
_CITED_SPAN = "INSERT INTO memory_note_cited_spans (note_id, span_id) VALUES (%s, %s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDraft:
    """A statement that becomes a note: what was decided about it, and the rows that it cites."""

    assessed: Assessed
    attempts: tuple[UUID, ...] = ()
    spans: tuple[int, ...] = ()
    ordinal: int = 0


def save_notes(
    drafts: Sequence[NoteDraft],
    *,
    team: Team,
    source: str,
    ledger: Recorder,
    policy: Policy,
    segment: Segment | None = None,
    flush: Flush | None = None,
    submitters: Sequence[UUID] = (),
    written_by: UUID | None = None,
) -> list[Note]:
    """Saves proposed notes with every agent's verdict, a few statements whatever their number.

    Each waits for a person unless nothing asks for one.
    """
    now = clock.now()
    notes = []
    for draft in drafts:
        note = Note(
            id=new_id(),
            organization_id=team.organization_id,
            team=team,
            segment=segment,
            flush=flush,
            ordinal=draft.ordinal,
            source=source,
            submitters=[str(person) for person in submitters],
            written_by_id=written_by,
            policy_digest=policy.digest,
            created_at=now,
            expires_at=now + timedelta(seconds=policy.note_life_s),
        )
        put_assessment(note, draft.assessed)
        reasons = review_reasons(facts_of(note, draft.assessed.recipients), policy=policy)
        note.review_reasons = [reason.value for reason in reasons]
        note.status = _first_status(note, reasons).value
        note.content_digest = _digest(note, draft.assessed.recipients)
        notes.append(note)
    _insert(notes, drafts)
    for note, draft in zip(notes, drafts, strict=True):
        record_proposal(note, draft.assessed, ledger)
    deny_newcomers(team=team.pk, ledger=ledger, notes=[note.pk for note in notes])
    open_items([note for note in notes if note.review_reasons], ledger=ledger, policy=policy)
    return notes


def _insert(notes: Sequence[Note], drafts: Sequence[NoteDraft]) -> None:
    pairs = list(zip(notes, drafts, strict=True))
    Note.objects.bulk_create(notes)
    verdicts = [_columns(note, item) for note, draft in pairs for item in draft.assessed.recipients]
    attempts = [(note.pk, attempt) for note, draft in pairs for attempt in dict.fromkeys(draft.attempts)]
    spans = [(note.pk, span) for note, draft in pairs for span in dict.fromkeys(draft.spans)]
    with Statements() as database:
        database.execute_many(_NEW_RECIPIENT, verdicts)
        database.execute_many(_CITED_ATTEMPT, attempts)
        database.execute_many(_CITED_SPAN, spans)


def put_assessment(note: Note, assessed: Assessed) -> None:
    """Text and flags of an assessment on a note's row, not saved yet."""
    note.content = assessed.content
    note.description = assessed.description
    note.rationale = assessed.rationale
    note.skill_key = assessed.skill_key
    note.severity = assessed.severity.value
    note.findings = list(assessed.findings)
    note.redacted = assessed.redacted
    note.quarantined = assessed.quarantined
    note.audience_words = assessed.audience_words
    note.possible_update_of_id = assessed.possible_update_of
    note.calibration = assessed.calibration


def save_recipients(note: Note, recipients: Sequence[AssessedRecipient]) -> None:
    """Replaces the verdicts of a note."""
    Recipient.objects.filter(note=note).delete()
    execute_many(_NEW_RECIPIENT, [_columns(note, item) for item in recipients])


def facts_of(note: Note, recipients: Sequence[AssessedRecipient]) -> NoteFacts:
    """What the review triggers look at."""
    granted = [item for item in recipients if item.verdict == "granted"]
    severe = note.severity == Severity.SEVERE
    return NoteFacts(
        severe=severe,
        redacted=note.redacted,
        quarantined=note.quarantined,
        fallback=any(item.match_kind == "fallback" for item in granted),
        new_skill=not severe and any(item.placement == "new" for item in granted),
        audience_words=note.audience_words,
        possible_update=note.possible_update_of_id is not None,
        without_model=note.source == "sentence",
        written_by_person=note.written_by_id is not None,
        proposed_by_agent=note.source == PROPOSED,
        edited=note.edited_by_id is not None,
        recipients=len(granted),
    )


def seal_digest(note: Note) -> None:
    """Computes and saves the digest over everything that a reviewer approves."""
    note.content_digest = note_digest(note)
    Note.objects.filter(pk=note.pk).update(content_digest=note.content_digest)


def note_digest(note: Note) -> str:
    """The digest as the rows stand now."""
    return _digest(note, instances(Recipient, equal("note_id", note.pk)).ask())


def _digest(note: Note, recipients: Iterable[AssessedRecipient | Recipient]) -> str:
    return content_digest(
        DigestContent(
            content=note.content,
            description=note.description,
            rationale=note.rationale,
            skill_key=note.skill_key,
            severity=note.severity,
            expires_at=note.expires_at.isoformat() if note.expires_at else "",
            recipients=[
                DigestRecipient(
                    agent=str(row.agent if isinstance(row, AssessedRecipient) else row.agent_id),
                    verdict=row.verdict,
                    reason=row.reason or None,
                    score_bp=row.score_bp,
                    threshold_bp=row.threshold_bp,
                    placement=row.placement,
                    placement_key=row.placement_key,
                )
                for row in recipients
                if row.reason != WithholdReason.NOT_PARTICIPANT.value
            ],
            reasons=[reason for reason in note.review_reasons if reason != ReviewReason.LANDING_FAILED],
            policy=note.policy_digest,
        )
    )


def open_items(notes: Sequence[Note], *, ledger: Recorder, policy: Policy) -> None:
    """Puts the present version of each note before a person."""
    now = clock.now()
    items = [
        ReviewItem(
            id=new_id(),
            organization_id=note.organization_id,
            note=note,
            note_version=note.version,
            reasons=note.review_reasons,
            opened_at=now,
            due_at=now + timedelta(seconds=policy.review_due_s),
        )
        for note in notes
    ]
    ReviewItem.objects.bulk_create(items)
    for note, item in zip(notes, items, strict=True):
        ledger.record(
            ReviewItemOpened(
                note=note.pk,
                team=note.team_id,
                review_item=item.pk,
                reasons=tuple(note.review_reasons),
                content_digest=note.content_digest,
            )
        )


def close_items(note: Note) -> None:
    """Ends whatever review is open for the note."""
    close = "UPDATE memory_reviewitem SET closed_at = %s WHERE note_id = %s AND closed_at IS NULL"
    execute(close, [clock.now(), note.pk])


def hold_again(*, note: Note, reason: ReviewReason, ledger: Recorder, policy: Policy) -> None:
    """An approved note could not land and waits for a person anew, with the reason on top."""
    note.review_reasons = [reason.value, *(r for r in note.review_reasons if r != reason.value)]
    Note.objects.filter(pk=note.pk).update(review_reasons=note.review_reasons)
    close_items(note)
    open_items([note], ledger=ledger, policy=policy)


def record_proposal(note: Note, assessed: Assessed, ledger: Recorder) -> None:
    """The note, what safety did to it, and every denial that stands from the start."""
    rules = tuple(sorted({str(finding["rule"]) for finding in assessed.findings}))
    ledger.record(
        NoteProposed(
            note=note.pk,
            team=note.team_id,
            segment=note.segment_id,
            source=note.source,
            severity=note.severity,
            skill_key=note.skill_key,
            content_digest=digest(note.content),
            candidates=tuple(item.agent for item in assessed.recipients if item.reason != "not_participant"),
            policy_digest=note.policy_digest,
            calibration=note.calibration,
        )
    )
    if note.redacted:
        ledger.record(NoteRedacted(note=note.pk, team=note.team_id, rules=rules))
    if note.quarantined:
        ledger.record(NoteQuarantined(note=note.pk, team=note.team_id, rules=rules))
    record_withheld(note, [item for item in assessed.recipients if item.verdict == "withheld"], ledger)


def _first_status(note: Note, reasons: Sequence[ReviewReason]) -> NoteStatus:
    if note.quarantined:
        return NoteStatus.QUARANTINED
    return NoteStatus.PENDING if reasons else NoteStatus.APPROVED


def _columns(note: Note, item: AssessedRecipient) -> tuple[object, ...]:
    return (
        note.pk,
        item.agent,
        item.verdict,
        item.reason,
        item.match_kind,
        item.score_bp,
        item.threshold_bp,
        item.placement,
        item.placement_key,
        item.placement_score_bp,
    )
