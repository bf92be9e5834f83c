"""Where events are sent, what became of them, and what a recording added."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from tikitaka.client.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An endpoint. Of its address the host is shown."""

    id: UUID
    organization: UUID
    host: str
    events: tuple[str, ...]
    all_teams: bool
    teams: tuple[UUID, ...]
    active: bool
    disabled_reason: str
    failures: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook(Webhook):
    """With the secret that signs every message; it is never shown again."""

    secret: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    id: UUID
    endpoint: UUID
    event: str
    seq: int | None
    body: str
    attempts: int
    last_status: int | None
    error: str
    next_at: datetime
    created_at: datetime
    delivered_at: datetime | None
    gave_up_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSource:
    """A conversation that was recorded elsewhere, as it is known there."""

    id: UUID
    team: UUID
    agent: UUID
    thread: str
    forms: tuple[str, ...]
    damaged_lines: tuple[Any, ...]
    imported_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """What one session added; all counts are zero when it had been brought in before."""

    source: UUID
    form: str
    thread: str
    tasks: int
    spans: int
    messages: int
    filled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A line, or a span, that could not be read whole."""

    what: str
    number: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    sessions: tuple[ImportedSession, ...]
    damaged: tuple[Damage, ...]
    changed: bool
