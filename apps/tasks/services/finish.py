"""The end of attempts, in batches: attempts, nodes, leases, locks, messages, blocked branches, settled tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.ledger.ids import new_id
from apps.ledger.services import Recorder, recording
from apps.ledger.sql import marks
from apps.tasks.graphs import RunningTask
from apps.tasks.models import AttemptStatus, AuthorKind, TaskStatus
from apps.tasks.services.attempts import expired_attempts, finding_rows
from apps.tasks.services.budgets import attempt_spent, charge, lock_budgets
from apps.tasks.services.claim import Claimed
from apps.tasks.services.standing import Standing, look
from apps.teams.models import Agent
from tikitaka.ledger.events import AttemptSettled, NodeBlocked, TaskSettled
from tikitaka.policy import Policy
from tikitaka.ports import RunEnd
from tikitaka.safety import Redaction, redact_captured
from tikitaka.scheduling.budget import Spent
from tikitaka.scheduling.graph import NodeStatus, blocked, settled_status
from tikitaka.scheduling.retry import retry
from tikitaka.text import clean_captured, cut

_ANSWER_CHARS = 200_000
_DETAIL_CHARS = 2_000
_THREAD_CHARS = 200
_NEW_MESSAGE = (
    "INSERT INTO tasks_message (id, organization_id, team_id, task_id, seq, author_kind, agent_id, node_id, attempt_id,"
    " text, findings, at, injected) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_BLOCK = "UPDATE tasks_plannode SET status = %s, blocked_by_id = %s, finished_at = %s WHERE id = %s"
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
        standing = look(team, organization=organization, attempts=[e.claimed.attempt for e in ends])
        finished, _ = finish(standing, ends, ledger=ledger, policy=policy, only_expired=only_expired)
    return finished


def finish(
    standing: Standing, ends: Sequence[Ended], *, ledger: Recorder, policy: Policy, only_expired: bool = False
) -> tuple[Finished, Standing]:
    """The same for a team that has been looked at, in the transaction that holds its lock; how it stands then."""
    now = standing.scheduler.now
    good = [e for e in ends if (e.claimed.attempt, e.claimed.fence) in standing.held]
    if only_expired:
        expired = expired_attempts([e.claimed.attempt for e in ends], at=now)
        good = [e for e in good if e.claimed.attempt in expired]
    stale = tuple(e.claimed.attempt for e in ends if e not in good)
    if not good:
        return Finished(stale=stale), standing
    cancelling = {key for key, task in standing.tasks.items() if task.cancelling}
    outcome = {e.claimed.node: _node_status(e, cancelling, policy) for e in good}
    completed = [e for e in good if outcome[e.claimed.node] is NodeStatus.COMPLETED]
    _end_attempts(good, cancelling, standing.digests, now, ledger)
    _write_nodes(outcome, now, ledger)
    _free([e.claimed.attempt for e in good], ledger)
    _speak(standing, completed, ledger)
    if standing.limited:
        _charge(standing, good)
    after = standing.after({e.claimed.attempt for e in good}, outcome)
    touched = {e.claimed.task for e in good}
    tasks = {key: task for key, task in after.tasks.items() if key in touched}
    settled = settle_tasks(tasks, team=standing.team, ledger=ledger, now=now)
    advanced = {e.claimed.task for e in completed} - set(settled)
    going_on = tuple(key for key, task in after.tasks.items() if key in advanced and task.in_segment)
    return Finished(settled_tasks=settled, going_on=going_on, stale=stale), after


def settle_tasks(tasks: Mapping[UUID, RunningTask], *, team: UUID, ledger: Recorder, now: datetime) -> tuple[UUID, ...]:
    """Blocks what a failure blocks and ends tasks in which nothing can run any more; call behind the team's lock."""
    settled = []
    for key, task in tasks.items():
        stops = blocked(task.nodes)
        ledger.write_late(_BLOCK, [(NodeStatus.CANCELLED.value, by, now, node) for node, by in stops.items()])
        ledger.record(*(NodeBlocked(node=node, task=key, team=team, blocked_by=by) for node, by in stops.items()))
        status = settled_status([NodeStatus.CANCELLED if n.id in stops else n.status for n in task.nodes])
        if status is not None:
            settled.append(key)
            final = TaskStatus.CANCELLED.value if task.cancelling else status
            ledger.write_late("UPDATE tasks_task SET status = %s, settled_at = %s WHERE id = %s", [(final, now, key)])
            ledger.record(TaskSettled(task=key, team=team, status=final))
    return tuple(settled)


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
    ledger.write_late(_END, rows)


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


def _charge(standing: Standing, ends: Sequence[Ended]) -> None:
    """Tokens and costs, by the runtime's own count; that the attempts began was counted when they did."""
    runtimes = dict(Agent.objects.filter(pk__in={e.claimed.agent for e in ends}).values_list("pk", "runtime"))
    spent: dict[UUID | None, Spent] = defaultdict(Spent)
    for ended in ends:
        spent[ended.claimed.task] += attempt_spent(runtimes[ended.claimed.agent], ended.end.usage)
    budgets = lock_budgets(
        organization=standing.gate.organization,
        team=standing.team,
        tasks={e.claimed.task for e in ends},
        now=standing.scheduler.now,
    )
    charge(budgets, spent)


def _write_nodes(outcome: Mapping[UUID, NodeStatus], now: datetime, ledger: Recorder) -> None:
    for status in set(outcome.values()):
        nodes = [node for node, found in outcome.items() if found is status]
        ledger.write_late(
            "UPDATE tasks_plannode SET status = %s, finished_at = %s"
            f" WHERE id IN ({marks(nodes)}) AND status = 'running'",
            [[status.value, None if status is NodeStatus.QUEUED else now, *nodes]],
        )


def _free(attempts: Sequence[UUID], ledger: Recorder) -> None:
    for table in ("tasks_treelock", "tasks_agentlease"):
        ledger.write_late(f"DELETE FROM {table} WHERE attempt_id IN ({marks(attempts)})", [attempts])


def _speak(standing: Standing, ends: Sequence[Ended], ledger: Recorder) -> None:
    """An agent's last message is its node's output and becomes one message of the team, whose row is locked."""
    if not ends:
        return
    first, now = standing.scheduler.last_seq + 1, standing.scheduler.now
    ledger.write_late(_NEW_MESSAGE, [_message(ended, seq, now) for seq, ended in enumerate(ends, first)])
    ledger.write_late(
        "UPDATE tasks_teamscheduler SET last_seq = last_seq + %s WHERE team_id = %s", [[len(ends), standing.team]]
    )


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
