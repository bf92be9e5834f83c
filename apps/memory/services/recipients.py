"""Verdicts: as values read from the rows, turned by a person's edit, and given to agents that came later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from apps.ledger.services import Recorder
from apps.ledger.sql import as_uuid, fetch, marks
from apps.memory.models import Note, Recipient
from apps.memory.selectors import LIVE_NOTES
from apps.memory.services.assess import AssessedRecipient
from tikitaka.ledger.events import RecipientWithheld
from tikitaka.routing.reasons import WithholdReason


def assessed_rows(note: Note) -> list[AssessedRecipient]:
    """The note's verdicts as they stand, in roster order."""
    rows = Recipient.objects.filter(note=note).order_by("agent__position")
    return [
        AssessedRecipient(
            agent=row.agent_id,
            verdict=row.verdict,
            reason=row.reason,
            match_kind=row.match_kind,
            score_bp=row.score_bp,
            threshold_bp=row.threshold_bp,
            placement=row.placement,
            placement_key=row.placement_key,
            placement_score_bp=row.placement_score_bp,
        )
        for row in rows
    ]


def deny_newcomers(*, team: UUID, ledger: Recorder, notes: Sequence[UUID] | None = None) -> int:
    """Every active agent has a verdict on every live note of its team: whoever was registered since took no part.

    Returns how many verdicts were missing; on some notes, or on all of the team.
    """
    if notes is not None and not notes:
        return 0
    live = [status.value for status in LIVE_NOTES]
    missing = fetch(
        "SELECT n.id, a.id FROM memory_note n JOIN teams_agent a ON a.team_id = n.team_id AND a.retired_at IS NULL"
        " LEFT JOIN memory_recipient r ON r.note_id = n.id AND r.agent_id = a.id"
        f" WHERE n.team_id = %s AND n.status IN ({marks(live)}) AND r.id IS NULL"
        f"{'' if notes is None else f' AND n.id IN ({marks(notes)})'} ORDER BY n.id, a.position",
        [team, *live, *(notes or ())],
    )
    pairs = [(as_uuid(of), as_uuid(agent)) for of, agent in missing]
    reason = WithholdReason.NOT_PARTICIPANT.value
    Recipient.objects.bulk_create(
        [Recipient(note_id=of, agent_id=agent, verdict="withheld", reason=reason) for of, agent in pairs],
        ignore_conflicts=True,
    )
    ledger.record(
        *(
            RecipientWithheld(note=of, team=team, recipient=agent, reason=reason, score_bp=None, threshold_bp=None)
            for of, agent in pairs
        )
    )
    return len(pairs)


def record_withheld(note: Note, recipients: Sequence[AssessedRecipient], ledger: Recorder) -> None:
    """One entry per denial, with its reason."""
    for item in recipients:
        ledger.record(
            RecipientWithheld(
                note=note.pk,
                team=note.team_id,
                recipient=item.agent,
                reason=item.reason,
                score_bp=item.score_bp,
                threshold_bp=item.threshold_bp,
            )
        )


def redirected(
    rows: Iterable[AssessedRecipient], fresh: Sequence[AssessedRecipient], wanted: Collection[UUID]
) -> tuple[AssessedRecipient, ...]:
    """The verdicts after a person chose the recipients: whoever is dropped is withheld, whoever is new is moved.

    `fresh` is today's assessment, which says where a newly chosen agent would keep the note.
    """
    places = {row.agent: row for row in fresh}
    return tuple(_turn(row, places.get(row.agent, row), row.agent in wanted) for row in rows)


def _turn(row: AssessedRecipient, place: AssessedRecipient, chosen: bool) -> AssessedRecipient:
    if chosen and row.verdict == "withheld":
        return replace(
            row,
            verdict="granted",
            reason="",
            match_kind="moved",
            placement=place.placement,
            placement_key=place.placement_key,
            placement_score_bp=place.placement_score_bp,
        )
    if not chosen and row.verdict == "granted":
        return replace(row, verdict="withheld", reason=WithholdReason.NARROWED_BY_EDIT.value, match_kind="")
    return row
