"""Attempts that somebody else's orchestrator runs: the same claim, lease, fence and end as our own workers'.

Whoever leases a node gets a token that dies with the attempt, and tells with it what the agent does and how it ended.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings

from apps.accounts.services.authorize import authorize, deny_at_home
from apps.accounts.services.tokens import issue_attempt_token
from apps.conductor.preparation import Prepared, inquire, prepare
from apps.conductor.story import go_on
from apps.conductor.wake import wake
from apps.ledger import clock
from apps.tasks.models import AgentLease, Attempt, PlanNode, Task
from apps.tasks.services.attempts import AttemptOver, StaleHolder, clean_thread_id, move_cursor, renew, save_spans
from apps.tasks.services.claim import Claimed, claim_of, claim_ready
from apps.tasks.services.finish import Ended, Finished, finish_attempts
from apps.teams.models import EXTERNAL, Team
from tikitaka.authz import Credential, Permission, Principal
from tikitaka.capture.events import SpanDraft
from tikitaka.errors import NotFound
from tikitaka.policy import Policy
from tikitaka.ports import ErrorKind, RunEnd

log = structlog.get_logger(__name__)
_LOOK_S = 0.25
_TOKEN_LIFE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A node that the caller now holds until `expires_at`, with what to give the agent."""

    prepared: Prepared
    token: Credential
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Until when the lease is held now, and whether the attempt should stop."""

    expires_at: datetime
    cancel_requested: bool


def lease_node(
    *, actor: Principal, team: Team, agents: Collection[UUID] | None = None, wait_s: float = 0
) -> Lease | None:
    """The next ready node of the team's external agents, with its frozen context; None when none came in time."""
    authorize(actor, Permission.NODE_LEASE, team, organization=team.organization_id, object_id=team.pk)
    until = time.monotonic() + wait_s
    while True:
        lease = _lease(team, agents, settings.TIKITAKA_POLICY)
        if lease is not None or time.monotonic() >= until:
            return lease
        time.sleep(min(_LOOK_S, max(0.0, until - time.monotonic())))


def _lease(team: Team, agents: Collection[UUID] | None, policy: Policy) -> Lease | None:
    waiting = PlanNode.objects.filter(task__team=team, status="queued", agent__runtime=EXTERNAL)
    if not waiting.exists():
        return None  # nothing can be ready: no row is locked for whoever only waits
    claimed = claim_ready(
        team=team.pk, organization=team.organization_id, policy=policy, limit=1, external=True, agents=agents
    )
    inquiry = inquire(claimed)
    if inquiry is None:
        return None
    (held,) = claimed
    try:
        prepared = prepare(inquiry, policy=policy)
    except Exception as error:
        log.exception("an attempt could not be prepared", attempt=str(held.attempt))
        _finish(held, RunEnd(answer=None, error="interrupted", detail=f"internal error: {type(error).__name__}"))
        raise
    if not prepared:
        return None
    expires_at = clock.now() + timedelta(seconds=policy.lease_s)
    token = issue_attempt_token(
        organization=held.organization,
        team=held.team,
        agent=held.agent,
        attempt=held.attempt,
        expires_at=clock.now() + _TOKEN_LIFE,
    )
    renew([held.attempt], policy=policy)  # what preparing took is not the orchestrator's time
    return Lease(prepared=prepared[0], token=token, expires_at=expires_at)


def heartbeat(*, actor: Principal, attempt: UUID) -> Heartbeat:
    """Keeps the lease. AttemptOver when it is lost: stop, nothing that comes later is taken."""
    held = _held(actor, attempt)
    if held.attempt not in renew([held.attempt], policy=settings.TIKITAKA_POLICY):
        raise AttemptOver
    asked = Task.objects.values_list("cancel_requested_at", flat=True).get(pk=held.task)
    expires_at = AgentLease.objects.values_list("expires_at", flat=True).get(attempt=held.attempt)
    return Heartbeat(expires_at=expires_at, cancel_requested=asked is not None)


def append_spans(*, actor: Principal, attempt: UUID, spans: Sequence[tuple[int, SpanDraft]]) -> None:
    """Stores numbered spans, redacted; a number that comes again replaces the span, so a batch may be sent twice."""
    held = _held(actor, attempt)
    try:
        save_spans(attempt=held.attempt, fence=held.fence, spans=spans, policy=settings.TIKITAKA_POLICY)
    except StaleHolder as error:
        raise AttemptOver from error


def complete(
    *,
    actor: Principal,
    attempt: UUID,
    output: str | None,
    error: ErrorKind | None = None,
    detail: str = "",
    usage: Mapping[str, int] | None = None,
    thread_id: str | None = None,
) -> str:
    """Writes the end of an attempt and sets going what it made ready; the attempt's status.

    An end without an answer is `no_answer`. Whether it is tried again is decided as for our own workers.
    """
    held = _held(actor, attempt)
    if error is None and not (output or "").strip():
        error = "no_answer"
    end = RunEnd(answer=output, error=error, detail=detail, thread_id=thread_id, usage=dict(usage or {}))
    if thread_id and error is None:
        _remember(held, thread_id)
    finished = _finish(held, end)
    if finished.stale:
        raise AttemptOver
    return Attempt.objects.values_list("status", flat=True).get(pk=attempt)


def _finish(held: Claimed, end: RunEnd) -> Finished:
    """What no database can take apart is done before: redaction belongs to making the end."""
    ended = Ended(claimed=held, end=end)
    finished = finish_attempts(
        organization=held.organization, team=held.team, ends=[ended], policy=settings.TIKITAKA_POLICY
    )
    go_on(finished)
    wake("dispatch", held.team)
    return finished


def _remember(held: Claimed, thread_id: str) -> None:
    """The thread may be continued where the agent's own program remembers, as far as this attempt was shown the log."""
    shown = Attempt.objects.filter(pk=held.attempt, agent__remembers=True)
    bound = shown.values_list("snapshot__to_seq_inclusive", flat=True).first()
    if bound is not None and clean_thread_id(thread_id) == thread_id:
        move_cursor(attempt=held.attempt, fence=held.fence, agent=held.agent, thread_id=thread_id, shown_to_seq=bound)


def _held(actor: Principal, attempt: UUID) -> Claimed:
    """The attempt that a token is bound to; for any other it is as if it did not exist."""
    grant = actor.grant
    if grant is None or grant.attempt is None or grant.attempt != attempt:
        owner = Attempt.objects.filter(pk=attempt).values_list("organization_id", flat=True).first()
        deny_at_home(actor, "report_attempt", organization=owner, object_id=attempt)
        raise NotFound("no such attempt")
    row = Attempt.objects.select_related("node", "task").get(pk=attempt)
    if row.status != "running":
        raise AttemptOver
    return claim_of(row, team=row.task.team_id)
