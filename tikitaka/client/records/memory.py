"""Segments, notes, landings, incidents, the ledger, tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from tikitaka.client.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    id: UUID
    team: UUID
    status: str
    close_reason: str
    signal: str
    value_bp: int | None
    threshold_bp: int | None
    opened_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A durable statement. `content_digest` is what a decision must name."""

    id: UUID
    team: UUID
    segment: UUID | None
    source: str
    content: str
    description: str
    rationale: str
    skill_key: str
    severity: str
    status: str
    version: int
    content_digest: str
    review_reasons: tuple[str, ...]
    findings: tuple[Any, ...]
    redacted: bool
    quarantined: bool
    possible_update_of: UUID | None
    written_by: UUID | None
    edited_by: UUID | None
    decided_by: UUID | None
    created_at: datetime
    activated_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """One agent's verdict: granted, or withheld with its reason."""

    agent: UUID
    verdict: str
    reason: str
    match_kind: str
    score_bp: int | None
    threshold_bp: int | None
    placement: str
    placement_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    verdict: str
    reviewer: UUID
    content_digest: str
    words: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """One distillation of a segment: which nodes it covers, every counted attempt, and what became of it."""

    id: UUID
    segment: UUID
    ordinal: int
    final: bool
    status: str
    nodes: tuple[str, ...]
    extractor: str
    attempts: tuple[Any, ...]
    reason: str
    dropped: tuple[Any, ...]
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """A version of a note that waits, or waited, for a person."""

    id: UUID
    note: UUID
    note_version: int
    reasons: tuple[str, ...]
    opened_at: datetime
    due_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    id: UUID
    note: UUID
    agent: UUID
    file: str
    kind: str
    block_digest: str
    status: str
    fault: str
    intended_at: datetime
    landed_at: datetime | None
    confirmed_at: datetime | None
    remove_requested_at: datetime | None
    removed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNote(Note):
    """A note with every agent's verdict, what people decided, and where it lies."""

    recipients: tuple[Recipient, ...]
    decisions: tuple[Decision, ...]
    landings: tuple[Landing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    id: UUID
    team: UUID | None
    kind: str
    subject: str
    detail: str
    count: int
    opened_at: datetime
    last_seen_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry; `header` is the canonical text that was hashed, `leaf` its hash in the chain."""

    id: UUID
    log: UUID
    seq: int
    type: str
    actor: str
    subject_kind: str
    subject: str
    team: str
    header: str
    leaf: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The head of an organization's log, and what verifying it said last."""

    id: UUID
    organization: UUID
    incarnation: int
    origin: str
    size: int
    tip: str
    last_at: datetime | None
    closed_at: datetime | None
    checked_at: datetime | None
    checked_size: int | None
    valid: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    log: UUID
    size: int
    valid: bool
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret, which is shown once."""

    id: UUID
    organization: UUID
    kind: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    teams: tuple[UUID, ...] | None
    agent: UUID | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken(Token):
    """A token that was just made; `token` is the whole of it and is never to be had again."""

    token: Secret
