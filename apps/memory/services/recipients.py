"""Verdicts as values: read from the rows, and turned by a person's edit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from apps.memory.models import Note, Recipient
from apps.memory.services.assess import AssessedRecipient
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
