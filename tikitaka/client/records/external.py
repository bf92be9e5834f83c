"""What an orchestrator leases, and what it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tikitaka.client.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The structured form of what the agent is asked to do."""

    agent: UUID
    agent_name: str
    role: str
    instruction: str
    expected_output: str
    work_area: str
    globs: tuple[str, ...]
    writes: bool
    depends_on: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A node that is yours until `expires_at` unless you say that you live. `token` is good for this attempt alone."""

    task: UUID
    node: UUID
    index: int
    attempt: UUID
    number: int
    agent: UUID
    prompt: str
    thread: str | None
    envelope: Envelope
    token: Secret
    expires_at: datetime
    heartbeat_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Until when the lease is held now, and whether the attempt should stop."""

    expires_at: datetime
    cancel_requested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    stored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    attempt: UUID
    status: str
