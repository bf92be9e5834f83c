"""Every type of entry as a typed class: what it is about, which facts it carries, what in it is sealed.

`record` accepts nothing else, so this module is the schema of the log. Facts hold codes, numbers, digests and ids;
personal words go into sealed fields, which enter the header only as commitments.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar
from uuid import UUID

REGISTRY: dict[str, type[Event]] = {}
_CONTEXT_FIELDS = ("team", "task", "node", "attempt", "segment", "flush", "review_item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events. The subject's id is the field that bears the name of `subject_kind`."""

    type: ClassVar[str] = ""
    subject_kind: ClassVar[str] = ""
    sealed: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        # dataclass(slots=True) builds each class twice; the later one is the one that stays.
        super(Event, cls).__init_subclass__(**options)
        if cls.type:
            REGISTRY[cls.type] = cls

    def subject_json(self) -> dict[str, str]:
        return {"kind": self.subject_kind, "id": str(getattr(self, self.subject_kind))}

    def context_json(self) -> dict[str, str]:
        context = {}
        for name in _shape(self.__class__).context:
            value = getattr(self, name)
            if value is not None:
                context[name] = str(value)
        return context

    def facts_json(self) -> dict[str, Any]:
        facts = {}
        for name in _shape(self.__class__).facts:
            value = getattr(self, name)
            if value is not None:
                facts[name] = _plain(value)
        return facts

    def sealed_values(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.sealed if getattr(self, name)}


@dataclass(frozen=True, slots=True)
class _Shape:
    context: tuple[str, ...]
    facts: tuple[str, ...]


_SHAPES: dict[type[Event], _Shape] = {}


def _shape(kind: type[Event]) -> _Shape:
    """Which fields of a type go where; worked out once, not for every entry."""
    if kind not in _SHAPES:
        names = [item.name for item in dataclasses.fields(kind)]
        context = [name for name in _CONTEXT_FIELDS if name != kind.subject_kind and name in names]
        elsewhere = {kind.subject_kind, *_CONTEXT_FIELDS, *kind.sealed}
        _SHAPES[kind] = _Shape(tuple(context), tuple(name for name in names if name not in elsewhere))
    return _SHAPES[kind]


def _plain(value: Any) -> Any:
    if value.__class__ is str or value.__class__ is int:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


# --- the log itself, people and doors


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOpened(Event):
    type = "ledger.log.opened"
    subject_kind = "organization"
    organization: UUID
    incarnation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStepped(Event):
    type = "ledger.clock.stepped"
    subject_kind = "organization"
    organization: UUID
    back_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAdded(Event):
    type = "org.member.added"
    subject_kind = "user"
    user: UUID
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGranted(Event):
    type = "org.role.granted"
    subject_kind = "user"
    user: UUID
    role: str
    role_before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRemoved(Event):
    type = "org.member.removed"
    subject_kind = "user"
    user: UUID
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenIssued(Event):
    """A token of a machine was made; `teams` is None for all of the organization. Attempts' own are no entries."""

    type = "org.token.issued"
    subject_kind = "token"
    token: UUID
    kind: str
    scopes: tuple[str, ...]
    teams: tuple[str, ...] | None
    agent: UUID | None
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRevoked(Event):
    type = "org.token.revoked"
    subject_kind = "token"
    token: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDenied(Event):
    """One per principal, permission, object and minute; `count` says how many came in the minute before."""

    type = "access.denied"
    subject_kind = "object"
    object: UUID
    permission: str
    reasons: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationPaused(Event):
    type = "org.paused"
    subject_kind = "organization"
    organization: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationUnpaused(Event):
    type = "org.unpaused"
    subject_kind = "organization"
    organization: UUID


# --- teams


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamCreated(Event):
    type = "team.created"
    subject_kind = "team"
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPaused(Event):
    type = "team.paused"
    subject_kind = "team"
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamUnpaused(Event):
    type = "team.unpaused"
    subject_kind = "team"
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamArchived(Event):
    type = "team.archived"
    subject_kind = "team"
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRegistered(Event):
    type = "team.agent.registered"
    subject_kind = "agent"
    agent: UUID
    team: UUID
    profile_digest: str
    runtime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanged(Event):
    type = "team.agent.changed"
    subject_kind = "agent"
    agent: UUID
    team: UUID
    profile_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRetired(Event):
    type = "team.agent.retired"
    subject_kind = "agent"
    agent: UUID
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceBound(Event):
    type = "team.workspace.bound"
    subject_kind = "agent"
    agent: UUID
    team: UUID
    host: str


# --- tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSubmitted(Event):
    type = "task.submitted"
    subject_kind = "task"
    task: UUID
    team: UUID
    prompt_digest: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAccepted(Event):
    type = "task.plan.accepted"
    subject_kind = "task"
    task: UUID
    team: UUID
    source: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRejected(Event):
    type = "task.plan.rejected"
    subject_kind = "task"
    task: UUID
    team: UUID
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFellBack(Event):
    type = "task.plan.fell_back"
    subject_kind = "task"
    task: UUID
    team: UUID
    nodes: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBlocked(Event):
    type = "task.node.blocked"
    subject_kind = "node"
    node: UUID
    task: UUID
    team: UUID
    blocked_by: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSnapshotted(Event):
    type = "task.context.snapshotted"
    subject_kind = "attempt"
    attempt: UUID
    node: UUID
    task: UUID
    team: UUID
    agent: UUID
    from_seq_exclusive: int
    to_seq_inclusive: int
    injected: int
    deduplicated: int
    notes: tuple[UUID, ...]
    rendered_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted(Event):
    type = "task.attempt.started"
    subject_kind = "attempt"
    attempt: UUID
    node: UUID
    task: UUID
    team: UUID
    agent: UUID
    number: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSettled(Event):
    type = "task.attempt.settled"
    subject_kind = "attempt"
    attempt: UUID
    node: UUID
    task: UUID
    team: UUID
    status: str
    error: str | None
    spans: int
    spans_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettled(Event):
    type = "task.settled"
    subject_kind = "task"
    task: UUID
    team: UUID
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResumed(Event):
    type = "task.resumed"
    subject_kind = "task"
    task: UUID
    team: UUID
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCancelled(Event):
    type = "task.cancelled"
    subject_kind = "task"
    task: UUID
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPruned(Event):
    """Words of a finished task were removed because of their age; a large task has one entry for each batch."""

    type = "task.pruned"
    subject_kind = "task"
    task: UUID
    team: UUID
    retention_s: int
    spans: int
    messages: int
    contexts: int
    outputs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSet(Event):
    """Of the task, else of the team, else of the organization; without any limit it is taken away."""

    type = "budget.set"
    subject_kind = "budget"
    budget: UUID
    team: UUID | None
    task: UUID | None
    attempts_max: int | None
    tokens_max: int | None
    cost_micros_max: int | None
    monthly: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExhausted(Event):
    """From here on nothing begins that this budget would pay for; once, however much is refused."""

    type = "budget.exhausted"
    subject_kind = "budget"
    budget: UUID
    team: UUID | None
    task: UUID | None
    reason: str
    attempts: int
    tokens: int
    cost_micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkImported(Event):
    type = "import.completed"
    subject_kind = "source"
    source: UUID
    team: UUID
    agent: UUID
    form: str
    tasks: int
    spans: int
    messages: int
    damaged_lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    type = "model.called"
    subject_kind = "call"
    call: UUID
    team: UUID
    task: UUID | None = None
    flush: UUID | None = None
    purpose: str
    provider: str
    model: str
    outcome: str
    sent_digest: str
    input_tokens: int
    output_tokens: int


# --- memory


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentClosed(Event):
    type = "memory.segment.closed"
    subject_kind = "segment"
    segment: UUID
    team: UUID
    reason: str
    signal: str | None
    value_bp: int | None
    threshold_bp: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentReopened(Event):
    type = "memory.segment.reopened"
    subject_kind = "segment"
    segment: UUID
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFlushed(Event):
    type = "memory.segment.flushed"
    subject_kind = "segment"
    segment: UUID
    team: UUID
    flush: UUID
    status: str
    extractor: str
    notes: int
    dropped: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteProposed(Event):
    type = "memory.note.proposed"
    subject_kind = "note"
    note: UUID
    team: UUID
    segment: UUID | None
    source: str
    severity: str
    skill_key: str
    content_digest: str
    candidates: tuple[UUID, ...]
    policy_digest: str
    calibration: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRepeated(Event):
    """An agent handed in what a note says already; it is not told so, it may not be entitled to that note."""

    type = "memory.proposal.repeated"
    subject_kind = "attempt"
    attempt: UUID
    team: UUID
    agent: UUID
    of: UUID
    content_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDeduplicated(Event):
    """A distilled statement restated what was already there; it did not become a note."""

    type = "memory.note.deduplicated"
    subject_kind = "flush"
    flush: UUID
    team: UUID
    segment: UUID | None
    of: str
    content_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRedacted(Event):
    type = "memory.note.redacted"
    subject_kind = "note"
    note: UUID
    team: UUID
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteQuarantined(Event):
    type = "memory.note.quarantined"
    subject_kind = "note"
    note: UUID
    team: UUID
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientGranted(Event):
    type = "memory.recipient.granted"
    subject_kind = "note"
    note: UUID
    team: UUID
    recipient: UUID
    match_kind: str | None
    score_bp: int | None
    threshold_bp: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientWithheld(Event):
    type = "memory.recipient.withheld"
    subject_kind = "note"
    note: UUID
    team: UUID
    recipient: UUID
    reason: str
    score_bp: int | None
    threshold_bp: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteActivated(Event):
    type = "memory.note.activated"
    subject_kind = "note"
    note: UUID
    team: UUID
    content_digest: str
    recipients: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEdited(Event):
    type = "memory.note.edited"
    subject_kind = "note"
    note: UUID
    team: UUID
    digest_before: str
    digest_after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRevoked(Event):
    type = "memory.note.revoked"
    subject_kind = "note"
    note: UUID
    team: UUID
    reason: str
    sealed = ("words",)
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteReset(Event):
    type = "memory.note.reset"
    subject_kind = "note"
    note: UUID
    team: UUID
    segment: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteExpired(Event):
    type = "memory.note.expired"
    subject_kind = "note"
    note: UUID
    team: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingIntended(Event):
    type = "memory.landing.intended"
    subject_kind = "landing"
    landing: UUID
    team: UUID
    note: UUID
    agent: UUID
    file: str
    block_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingCompleted(Event):
    type = "memory.landing.completed"
    subject_kind = "landing"
    landing: UUID
    team: UUID
    note: UUID
    agent: UUID
    file: str
    block_digest: str
    file_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingConfirmed(Event):
    """The machine on which the agent works says for the first time, or anew after a fault, that it has the file."""

    type = "memory.landing.confirmed"
    subject_kind = "landing"
    landing: UUID
    team: UUID
    note: UUID
    agent: UUID
    file: str
    file_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingFailed(Event):
    type = "memory.landing.failed"
    subject_kind = "landing"
    landing: UUID
    team: UUID
    note: UUID
    agent: UUID
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingRemoved(Event):
    type = "memory.landing.removed"
    subject_kind = "landing"
    landing: UUID
    team: UUID
    note: UUID
    agent: UUID
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingDrifted(Event):
    type = "memory.landing.drifted"
    subject_kind = "landing"
    landing: UUID
    team: UUID
    note: UUID
    agent: UUID
    fault: str


# --- review and incidents


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItemOpened(Event):
    type = "review.item.opened"
    subject_kind = "note"
    note: UUID
    team: UUID
    review_item: UUID
    reasons: tuple[str, ...]
    content_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecorded(Event):
    type = "review.decision.recorded"
    subject_kind = "note"
    note: UUID
    team: UUID
    review_item: UUID | None
    verdict: str
    reasons: tuple[str, ...]
    content_digest: str
    recipients_before: tuple[UUID, ...]
    recipients_after: tuple[UUID, ...]
    sealed = ("words", "reviewer_name")
    words: str = ""
    reviewer_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRefused(Event):
    type = "review.decision.refused"
    subject_kind = "note"
    note: UUID
    team: UUID
    verdict: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentOpened(Event):
    type = "incident.opened"
    subject_kind = "incident"
    incident: UUID
    team: UUID | None
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentClosed(Event):
    type = "incident.closed"
    subject_kind = "incident"
    incident: UUID
    team: UUID | None
    kind: str


# --- what is told to other systems


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookCreated(Event):
    """`host` is all of the address that is told: path and query may hold what only the receiver should know."""

    type = "webhook.created"
    subject_kind = "endpoint"
    endpoint: UUID
    host: str
    events: tuple[str, ...]
    teams: tuple[UUID, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChanged(Event):
    type = "webhook.changed"
    subject_kind = "endpoint"
    endpoint: UUID
    host: str
    events: tuple[str, ...]
    teams: tuple[UUID, ...] | None
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecretRotated(Event):
    type = "webhook.secret.rotated"
    subject_kind = "endpoint"
    endpoint: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSwitchedOff(Event):
    """Not by a person: the receiver said that it is gone for good."""

    type = "webhook.switched_off"
    subject_kind = "endpoint"
    endpoint: UUID
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRemoved(Event):
    type = "webhook.removed"
    subject_kind = "endpoint"
    endpoint: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRedelivered(Event):
    """A person sent an event of the log once more."""

    type = "webhook.redelivered"
    subject_kind = "endpoint"
    endpoint: UUID
    delivery: UUID


KNOWN_TYPES = frozenset(REGISTRY)
