"""Who knows what, who was denied it and why: one row for each note and agent."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from apps.memory.models import Landing, LandingStatus, Note, Recipient


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeRow:
    """One agent's verdict on one note, with the file where the note lies if it does."""

    note: UUID
    content: str
    note_status: str
    skill_key: str
    agent: UUID
    agent_name: str
    verdict: str
    reason: str
    match_kind: str
    score_bp: int | None
    threshold_bp: int | None
    file: str
    landing_status: str


def knowledge(team: UUID) -> list[KnowledgeRow]:
    """Every verdict of a team, by note and roster; two queries whatever the number of notes."""
    landings = {
        (landing.note_id, landing.agent_id): landing
        for landing in Landing.objects.filter(note__team_id=team).order_by("intended_at", "id")
    }
    rows = (
        Recipient.objects.filter(note__team_id=team)
        .select_related("note", "agent")
        .order_by("note__created_at", "note_id", "agent__position")
    )
    return [_row(row, landings.get((row.note_id, row.agent_id))) for row in rows]


def _row(row: Recipient, landing: Landing | None) -> KnowledgeRow:
    note: Note = row.note
    return KnowledgeRow(
        note=note.pk,
        content=note.content,
        note_status=note.status,
        skill_key=note.skill_key,
        agent=row.agent_id,
        agent_name=row.agent.name,
        verdict=row.verdict,
        reason=row.reason,
        match_kind=row.match_kind,
        score_bp=row.score_bp,
        threshold_bp=row.threshold_bp,
        file=landing.file if landing and landing.status == LandingStatus.LANDED else "",
        landing_status=landing.status if landing else "",
    )


def note_story(note: UUID) -> list[KnowledgeRow]:
    """The same for one note: granted and denied, with the file where it lies."""
    landings = {row.agent_id: row for row in Landing.objects.filter(note_id=note).order_by("intended_at", "id")}
    rows = Recipient.objects.filter(note_id=note).select_related("note", "agent").order_by("agent__position")
    return [_row(row, landings.get(row.agent_id)) for row in rows]
