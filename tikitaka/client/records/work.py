"""Organizations, teams, agents, tasks and what belongs to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    id: UUID
    name: str
    paused_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    id: UUID
    organization: UUID
    name: str
    description: str
    work_areas: Mapping[str, Any]
    width: int
    paused_at: datetime | None
    archived_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody's one role in an organization."""

    id: UUID
    organization: UUID
    user: UUID
    name: str
    role: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What an organization, a team of it or a task may spend, and has spent since `since`. None is no limit."""

    id: UUID
    organization: UUID
    team: UUID | None
    task: UUID | None
    attempts_max: int | None
    tokens_max: int | None
    cost_micros_max: int | None
    attempts: int
    tokens: int
    cost_micros: int
    monthly: bool
    since: datetime
    exhausted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    id: UUID
    team: UUID
    position: int
    name: str
    description: str
    instructions: str
    runtime: str
    remembers: bool
    workspace: str
    retired_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    id: UUID
    team: UUID
    prompt: str
    status: str
    plan_source: str
    plan_reasons: tuple[Any, ...]
    plan_only: bool
    submitted_by: UUID | None
    submitted_at: datetime
    started_at: datetime | None
    settled_at: datetime | None
    cancel_requested_at: datetime | None
    segment: UUID | None
    pruned_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(Task):
    """A task that was just submitted; `looks_secret` when its prompt holds what looks like a secret."""

    looks_secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    id: UUID
    task: UUID
    index: int
    agent: UUID
    role: str
    instruction: str
    expected_output: str
    work_area: str
    writes: bool
    depends_on: tuple[int, ...]
    status: str
    blocked_by: UUID | None
    attempts: int
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    id: UUID
    task: UUID
    node: UUID
    agent: UUID
    number: int
    status: str
    output: str
    error: str
    error_detail: str
    exit_code: int | None
    usage: Mapping[str, Any]
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    seq: int
    kind: str
    status: str
    text: str
    data: Mapping[str, Any]
    injected: bool
    findings: tuple[Any, ...]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    id: UUID
    seq: int
    task: UUID
    author_kind: str
    agent: UUID | None
    node: UUID | None
    attempt: UUID | None
    text: str
    injected: bool
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an attempt was given, as it was saved before the attempt began."""

    attempt: UUID
    strategy: str
    from_seq_exclusive: int
    to_seq_inclusive: int
    injected_messages: tuple[str, ...]
    deduplicated_messages: tuple[Any, ...]
    dependency_nodes: tuple[str, ...]
    available_notes: tuple[str, ...]
    rendered: str
    rendered_digest: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a task: `state`, `feed` or `end`; `id` is where a stream goes on behind it."""

    name: str
    data: Mapping[str, Any]
    id: str
