"""The end of attempts, in batches: attempts, nodes, leases, locks, messages, blocked branches, settled tasks."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.ledger.ids import new_id
from apps.ledger.queries import Query, Rows, ask
from apps.ledger.services import Recorder, recording
from apps.ledger.sql import as_uuid, execute, execute_many, marks, together
from apps.tasks.graphs import node_states
from apps.tasks.models import AttemptStatus, AuthorKind, PlanNode, Task, TaskStatus
from apps.tasks.selectors import TERMINAL
from apps.tasks.services.attempts import expired_attempts, finding_rows, held_attempts
from apps.tasks.services.budgets import attempt_spent, charge, lock_budgets
from apps.tasks.services.claim import Claimed
from apps.tasks.services.log import Scheduler, locked_scheduler, make_scheduler
from apps.teams.models import Agent
from tikitaka.ledger.events import AttemptSettled, NodeBlocked, TaskSettled
from tikitaka.policy import Policy
from tikitaka.ports import RunEnd
from tikitaka.safety import Redaction, redact_captured
from tikitaka.scheduling.budget import Spent
from tikitaka.scheduling.graph import NodeState, NodeStatus, blocked, settled_status
from tikitaka.scheduling.retry import retry
from tikitaka.text import clean_captured, cut

_ANSWER_CHARS = 200_000
_DETAIL_CHARS = 2_000
_THREAD_CHARS = 200
_NEW_MESSAGE = (
    "INSERT INTO tasks_message (id, organization_id, team_id, task_id, seq, author_kind, agent_id, node_id, attempt_id,"
    " text, findings, at, injected) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_END = (
    "UPDATE tasks_attempt SET status = %s, finished_at = %s, thread_id = %s, output = %s, error = %s,"
    " error_detail = %s, exit_code = %s, usage = %s WHERE id = %s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An attempt that its holder reports as ended.

    Making one cleans and redacts what the agent said, which takes seconds where it is hostile: never in a transaction.
    """

    claimed: Claimed
    end: RunEnd
    said: Redaction = field(init=False)
    detail: str = field(init=False)

    def __post_init__(self) -> None:
        said = redact_captured(cut(clean_captured(self.end.answer or ""), _ANSWER_CHARS))
        detail = redact_captured(cut(clean_captured(self.end.detail), _DETAIL_CHARS)).text
        object.__setattr__(self, "said", said)
        object.__setattr__(self, "detail", cut(detail, _DETAIL_CHARS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a batch of ends led to; `going_on` are the tasks of a segment that still run and have a node more done."""

    settled_tasks: tuple[UUID, ...] = ()
    going_on: tuple[UUID, ...] = ()
    stale: tuple[UUID, ...] = ()


def finish_attempts(
    *, organization: UUID, team: UUID, ends: Sequence[Ended], policy: Policy, only_expired: bool = False
) -> Finished:
    """Writes what still may be written: an end whose attempt is no longer held under its fence is stale and dropped.

    With `only_expired` so is one whose lease was renewed since somebody found that it had run out.
    """
    with recording(organization) as ledger:
        attempts = [e.claimed.attempt for e in ends]
        scheduler, held, digests, standing = _look(organization, team, ends)
        now = scheduler.now
        good = [e for e in ends if (e.claimed.attempt, e.claimed.fence) in held]
        if only_expired:
            expired = expired_attempts(attempts, at=now)
            good = [e for e in good if e.claimed.attempt in expired]
        stale = tuple(e.claimed.attempt for e in ends if e not in good)
        if not good:
            return Finished(stale=stale)
        tasks = {e.claimed.task for e in good}
        outcome = {e.claimed.node: _node_status(e, standing.cancelling, policy) for e in good}
        with together():
            _end_attempts(good, standing.cancelling, digests, now, ledger)
            _write_nodes(outcome, now)
            _free([e.claimed.attempt for e in good])
            _speak(team, [e for e in good if outcome[e.claimed.node] is NodeStatus.COMPLETED], scheduler.last_seq, now)
            graphs = node_states(tasks).send()
        if standing.limited:
            _charge(organization, team, good, now)
        settled = settle_tasks(graphs=graphs.answer(), team=team, ledger=ledger, now=now)
    completed = {node for node, status in outcome.items() if status is NodeStatus.COMPLETED}
    advanced = {e.claimed.task for e in good if e.claimed.node in completed}
    return Finished(
        settled_tasks=settled,
        going_on=tuple((advanced & standing.in_segment) - set(settled)),
        stale=stale,
    )


def settle_tasks(
    *, graphs: Mapping[UUID, Sequence[NodeState]], team: UUID, ledger: Recorder, now: datetime
) -> tuple[UUID, ...]:
    """Blocks what a failure blocks and ends the tasks in which nothing can run any more."""
    settled = []
    for task, nodes in graphs.items():
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


def _end_attempts(
    ends: Sequence[Ended],
    cancelling: Collection[UUID],
    digests: Mapping[UUID, tuple[int, str]],
    now: datetime,
    ledger: Recorder,
) -> None:
    rows = []
    for ended in ends:
        claimed, end = ended.claimed, ended.end
        status = _attempt_status(ended, cancelling)
        rows.append(
            (
                status.value,
                now,
                cut(end.thread_id or "", _THREAD_CHARS),
                ended.said.text,
                end.error or "",
                ended.detail,
                end.exit_code,
                dict(end.usage),
                claimed.attempt,
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
    execute_many(_END, rows)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """Which tasks are being cancelled, which a segment owns, and whether anything in the organization has a budget."""

    cancelling: frozenset[UUID]
    in_segment: frozenset[UUID]
    limited: bool


def _look(
    organization: UUID, team: UUID, ends: Sequence[Ended]
) -> tuple[Scheduler, set[tuple[UUID, int]], dict[UUID, tuple[int, str]], _Standing]:
    """The team's row, locked, and what is to be known behind the lock."""
    attempts = [e.claimed.attempt for e in ends]
    tasks = list({e.claimed.task for e in ends})
    scheduler, held, digests, standing = ask(
        locked_scheduler(team), held_attempts(attempts), _span_digests(attempts), _standing(organization, tasks)
    )
    if scheduler is None:
        make_scheduler(team)
        return _look(organization, team, ends)
    return scheduler, held, digests, standing


def _standing(organization: UUID, tasks: Sequence[UUID]) -> Query[_Standing]:
    return Query(
        "SELECT id, cancel_requested_at, segment_id, EXISTS (SELECT 1 FROM tasks_budget WHERE organization_id = %s)"
        f" FROM tasks_task WHERE id IN ({marks(tasks)})",
        [organization, *tasks],
        lambda rows: _Standing(
            cancelling=frozenset(as_uuid(task) for task, asked, _, _ in rows if asked),
            in_segment=frozenset(as_uuid(task) for task, _, owner, _ in rows if owner),
            limited=any(limited for *_, limited in rows),
        ),
    )


def _charge(organization: UUID, team: UUID, ends: Sequence[Ended], now: datetime) -> None:
    """Tokens and costs, by the runtime's own count; that the attempts began was counted when they did."""
    runtimes = dict(Agent.objects.filter(pk__in={e.claimed.agent for e in ends}).values_list("pk", "runtime"))
    spent: dict[UUID | None, Spent] = defaultdict(Spent)
    for ended in ends:
        spent[ended.claimed.task] += attempt_spent(runtimes[ended.claimed.agent], ended.end.usage)
    budgets = lock_budgets(organization=organization, team=team, tasks={e.claimed.task for e in ends}, now=now)
    charge(budgets, spent)


def _write_nodes(outcome: Mapping[UUID, NodeStatus], now: datetime) -> None:
    for status in set(outcome.values()):
        nodes = [node for node, found in outcome.items() if found is status]
        execute(
            "UPDATE tasks_plannode SET status = %s, finished_at = %s"
            f" WHERE id IN ({marks(nodes)}) AND status = 'running'",
            [status.value, None if status is NodeStatus.QUEUED else now, *nodes],
        )


def _free(attempts: Sequence[UUID]) -> None:
    for table in ("tasks_treelock", "tasks_agentlease"):
        execute(f"DELETE FROM {table} WHERE attempt_id IN ({marks(attempts)})", attempts)


def _speak(team: UUID, ends: Sequence[Ended], last_seq: int, now: datetime) -> None:
    """An agent's last message is its node's output and becomes one message of the team, whose row is locked."""
    if ends:
        execute_many(_NEW_MESSAGE, [_message(ended, seq, now) for seq, ended in enumerate(ends, last_seq + 1)])
        execute("UPDATE tasks_teamscheduler SET last_seq = last_seq + %s WHERE team_id = %s", [len(ends), team])


def _message(ended: Ended, seq: int, now: datetime) -> tuple[Any, ...]:
    claimed = ended.claimed
    return (
        new_id(),
        claimed.organization,
        claimed.team,
        claimed.task,
        seq,
        AuthorKind.AGENT.value,
        claimed.agent,
        claimed.node,
        claimed.attempt,
        ended.said.text,
        finding_rows(ended.said.findings),
        now,
        False,
    )


def _span_digests(attempts: Sequence[UUID]) -> Query[dict[UUID, tuple[int, str]]]:
    """Count and digest of each attempt's spans: what the log says about the trace, which is not an entry itself."""
    return Query(
        f"SELECT attempt_id, seq, kind, text FROM tasks_span WHERE attempt_id IN ({marks(attempts)})"
        " ORDER BY attempt_id, seq",
        attempts,
        _digests,
    )


def _digests(rows: Rows) -> dict[UUID, tuple[int, str]]:
    hashes: dict[UUID, tuple[int, hashlib._Hash]] = {}
    for key, seq, kind, text in rows:
        attempt = as_uuid(key)
        count, running = hashes.get(attempt) or (0, hashlib.sha256())
        running.update(f"{seq}\x00{kind}\x00{text}\x00".encode())
        hashes[attempt] = (count + 1, running)
    return {attempt: (count, running.hexdigest()) for attempt, (count, running) in hashes.items()}
