"""The end of attempts, in batches: attempts, nodes, leases, locks, messages, blocked branches, settled tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import Recorder, recording
from apps.ledger.services.append import database_uuid
from apps.tasks.graphs import node_states
from apps.tasks.models import (
    AgentLease,
    Attempt,
    AttemptStatus,
    AuthorKind,
    Message,
    PlanNode,
    Span,
    Task,
    TaskStatus,
    TreeLock,
)
from apps.tasks.selectors import TERMINAL
from apps.tasks.services.attempts import finding_rows
from apps.tasks.services.claim import Claimed
from apps.tasks.services.log import lock_scheduler, take_numbers
from tikitaka.ledger.events import AttemptSettled, NodeBlocked, TaskSettled
from tikitaka.policy import Policy
from tikitaka.ports import RunEnd
from tikitaka.safety import redact_captured
from tikitaka.scheduling.graph import NodeStatus, blocked, settled_status
from tikitaka.scheduling.retry import retry
from tikitaka.text import clean_captured, cut

_DETAIL_CHARS = 2_000
_THREAD_CHARS = 200
_END = (
    "UPDATE tasks_attempt SET status = %s, finished_at = %s, thread_id = %s, output = %s, error = %s,"
    " error_detail = %s, exit_code = %s, usage = %s WHERE id = %s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An attempt that its holder reports as ended."""

    claimed: Claimed
    end: RunEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a batch of ends led to."""

    settled_tasks: tuple[UUID, ...]
    completed_nodes: tuple[UUID, ...]
    stale: tuple[UUID, ...]


def finish_attempts(*, organization: UUID, team: UUID, ends: Sequence[Ended], policy: Policy) -> Finished:
    """Writes what still may be written: an end whose attempt is no longer held under its fence is stale and dropped."""
    with recording(organization) as ledger:
        lock_scheduler(team)
        now = clock.now()
        held = {
            (pk, fence)
            for pk, fence in Attempt.objects.filter(
                pk__in=[e.claimed.attempt for e in ends], status=AttemptStatus.RUNNING
            ).values_list("pk", "fence")
        }
        good = [e for e in ends if (e.claimed.attempt, e.claimed.fence) in held]
        stale = tuple(e.claimed.attempt for e in ends if e not in good)
        if not good:
            return Finished(settled_tasks=(), completed_nodes=(), stale=stale)
        tasks = {e.claimed.task for e in good}
        cancelling = set(
            Task.objects.filter(pk__in=tasks, cancel_requested_at__isnull=False).values_list("pk", flat=True)
        )
        _end_attempts(good, cancelling, now, ledger)
        outcome = {e.claimed.node: _node_status(e, cancelling, policy) for e in good}
        _write_nodes(outcome, now)
        _free([e.claimed.attempt for e in good])
        _speak(team, [e for e in good if outcome[e.claimed.node] is NodeStatus.COMPLETED], now)
        settled = settle_tasks(tasks=tasks, team=team, ledger=ledger, now=now)
    completed = tuple(node for node, status in outcome.items() if status is NodeStatus.COMPLETED)
    return Finished(settled_tasks=settled, completed_nodes=completed, stale=stale)


def settle_tasks(*, tasks: Collection[UUID], team: UUID, ledger: Recorder, now: datetime) -> tuple[UUID, ...]:
    """Blocks what a failure blocks and ends the tasks in which nothing can run any more."""
    settled = []
    for task, nodes in node_states(tasks).items():
        stops = blocked(nodes)
        for node, ancestor in stops.items():
            PlanNode.objects.filter(pk=node).update(
                status=NodeStatus.CANCELLED.value, blocked_by_id=ancestor, finished_at=now
            )
            ledger.record(NodeBlocked(node=node, task=task, team=team, blocked_by=ancestor))
        status = settled_status([NodeStatus.CANCELLED if n.id in stops else n.status for n in nodes])
        if status is not None and _settle(task, status, now):
            settled.append(task)
            final = Task.objects.values_list("status", flat=True).get(pk=task)
            ledger.record(TaskSettled(task=task, team=team, status=final))
    return tuple(settled)


def _settle(task: UUID, status: str, now: datetime) -> bool:
    open_tasks = Task.objects.filter(pk=task).exclude(status__in=TERMINAL)
    cancelled = open_tasks.filter(cancel_requested_at__isnull=False)
    if cancelled.update(status=TaskStatus.CANCELLED, settled_at=now):
        return True
    return bool(open_tasks.update(status=status, settled_at=now))


def _end_attempts(ends: Sequence[Ended], cancelling: Collection[UUID], now: datetime, ledger: Recorder) -> None:
    digests = _span_digests([e.claimed.attempt for e in ends])
    rows = []
    for ended in ends:
        claimed, end = ended.claimed, ended.end
        status = _attempt_status(ended, cancelling)
        detail = cut(redact_captured(clean_captured(end.detail)).text, _DETAIL_CHARS) if end.detail else ""
        rows.append(
            (
                status.value,
                connection.ops.adapt_datetimefield_value(now),
                cut(end.thread_id or "", _THREAD_CHARS),
                _output(end),
                end.error or "",
                detail,
                end.exit_code,
                json.dumps(dict(end.usage)),
                database_uuid(claimed.attempt),
            )
        )
        count, digest = digests.get(claimed.attempt, (0, ""))
        ledger.record(
            AttemptSettled(
                attempt=claimed.attempt,
                node=claimed.node,
                task=claimed.task,
                team=claimed.team,
                status=status.value,
                error=end.error,
                spans=count,
                spans_digest=digest,
            )
        )
    with connection.cursor() as cursor:
        cursor.executemany(_END, rows)


def _output(end: RunEnd) -> str:
    if end.answer is None:
        return ""
    return redact_captured(clean_captured(end.answer)).text


def _attempt_status(ended: Ended, cancelling: Collection[UUID]) -> AttemptStatus:
    error = ended.end.error
    if error == "cancelled" or (error is not None and ended.claimed.task in cancelling):
        return AttemptStatus.CANCELLED
    if error == "interrupted":
        return AttemptStatus.INTERRUPTED
    return AttemptStatus.COMPLETED if error is None else AttemptStatus.FAILED


def _node_status(ended: Ended, cancelling: Collection[UUID], policy: Policy) -> NodeStatus:
    error = ended.end.error
    if error is None:
        return NodeStatus.COMPLETED
    if error == "cancelled" or ended.claimed.task in cancelling:
        return NodeStatus.CANCELLED
    return NodeStatus.QUEUED if retry(error, attempts=ended.claimed.number, policy=policy) else NodeStatus.FAILED


def _write_nodes(outcome: Mapping[UUID, NodeStatus], now: datetime) -> None:
    for status in set(outcome.values()):
        nodes = [node for node, new in outcome.items() if new is status]
        finished_at = None if status is NodeStatus.QUEUED else now
        PlanNode.objects.filter(pk__in=nodes, status=NodeStatus.RUNNING.value).update(
            status=status.value, finished_at=finished_at
        )


def _free(attempts: Collection[UUID]) -> None:
    TreeLock.objects.filter(attempt__in=attempts).delete()
    AgentLease.objects.filter(attempt__in=attempts).delete()


def _speak(team: UUID, ends: Sequence[Ended], now: datetime) -> None:
    """An agent's last message is its node's output and becomes one message of the team."""
    if not ends:
        return
    organization = ends[0].claimed.organization
    Message.objects.bulk_create(
        _message(ended, seq, organization, now) for seq, ended in zip(take_numbers(team, len(ends)), ends, strict=True)
    )


def _message(ended: Ended, seq: int, organization: UUID, now: datetime) -> Message:
    claimed = ended.claimed
    redaction = redact_captured(clean_captured(ended.end.answer or ""))
    return Message(
        id=new_id(),
        organization_id=organization,
        team_id=claimed.team,
        task_id=claimed.task,
        seq=seq,
        author_kind=AuthorKind.AGENT,
        agent_id=claimed.agent,
        node_id=claimed.node,
        attempt_id=claimed.attempt,
        text=redaction.text,
        findings=finding_rows(redaction.findings),
        at=now,
    )


def _span_digests(attempts: Collection[UUID]) -> dict[UUID, tuple[int, str]]:
    """Count and digest of each attempt's spans: what the log says about the trace, which is not an entry itself."""
    hashes: dict[UUID, tuple[int, hashlib._Hash]] = {}
    rows = Span.objects.filter(attempt__in=attempts).order_by("attempt", "seq")
    for attempt, seq, kind, text in rows.values_list("attempt_id", "seq", "kind", "text"):
        count, running = hashes.get(attempt) or (0, hashlib.sha256())
        running.update(f"{seq}\x00{kind}\x00{text}\x00".encode())
        hashes[attempt] = (count + 1, running)
    return {attempt: (count, running.hexdigest()) for attempt, (count, running) in hashes.items()}
