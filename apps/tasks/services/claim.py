"""Claiming ready nodes: lock the team's scheduler row, decide with the core, write node, attempt, lease and locks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from apps.ledger.ids import new_id
from apps.ledger.services import Recorder, recording
from apps.ledger.sql import marks
from apps.tasks.budgets import purse
from apps.tasks.graphs import RunningTask
from apps.tasks.models import Attempt, AttemptStatus, Budget
from apps.tasks.services.budgets import charge_attempts, lock_budgets, note_refusals
from apps.tasks.services.standing import Standing, look
from apps.teams.hosts import require_here
from tikitaka.ledger.events import AttemptStarted
from tikitaka.policy import Policy
from tikitaka.scheduling.budget import UNLIMITED
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.ready import TaskGraph, select_ready

_NEW_ATTEMPT = (
    "INSERT INTO tasks_attempt (id, organization_id, task_id, node_id, agent_id, number, status, fence, started_at,"
    " usage, thread_id, output, error, error_detail) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '', '', '', '')"
)
_NEW_LEASE = (
    "INSERT INTO tasks_agentlease (agent_id, team_id, attempt_id, fence, heartbeat_at, expires_at)"
    " VALUES (%s, %s, %s, %s, %s, %s)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """One attempt that the caller now holds. Whoever writes for it shows the fencing number."""

    attempt: UUID
    node: UUID
    task: UUID
    team: UUID
    organization: UUID
    agent: UUID
    number: int
    fence: int


def claim_of(attempt: Attempt, *, team: UUID) -> Claimed:
    """What the holder of a running attempt holds, read back from its row."""
    return Claimed(
        attempt=attempt.pk,
        node=attempt.node_id,
        task=attempt.task_id,
        team=team,
        organization=attempt.organization_id,
        agent=attempt.agent_id,
        number=attempt.node.attempts,
        fence=attempt.fence,
    )


def claim_ready(
    *,
    team: UUID,
    organization: UUID,
    policy: Policy,
    limit: int | None = None,
    external: bool = False,
    agents: Collection[UUID] | None = None,
) -> list[Claimed]:
    """Starts what may start now, at most `limit` nodes; attempts are counted before anything is dispatched.

    Our own workers and the orchestrators that lease for `external` agents never start each other's nodes; `agents`
    names some of them. Switches and host are read behind the lock that moving the team takes too; refused where its
    files lie elsewhere.
    """
    with recording(organization) as ledger:
        standing = look(team, organization=organization)
        return claim(standing, ledger=ledger, policy=policy, limit=limit, external=external, agents=agents)


def claim(
    standing: Standing,
    *,
    ledger: Recorder,
    policy: Policy,
    limit: int | None = None,
    external: bool = False,
    agents: Collection[UUID] | None = None,
) -> list[Claimed]:
    """The same for a team that has been looked at, in the transaction that holds its lock."""
    team, organization, now = standing.team, standing.gate.organization, standing.scheduler.now
    require_here(standing.gate.host)
    running = {key: task for key, task in standing.tasks.items() if not task.cancelling}
    if not running:
        return []
    busy, others = standing.busy(), _others_agents(running, standing.external, external=external, agents=agents)
    budgets: Sequence[Budget] = ()
    if standing.limited:
        budgets = lock_budgets(organization=organization, team=team, tasks=list(running), now=now)
    selection = select_ready(
        [TaskGraph(task=key, nodes=task.nodes) for key, task in running.items()],
        replace(busy, agents=busy.agents | others) if others else busy,
        width=standing.gate.width,
        paused=standing.gate.paused,
        purse=purse(budgets, now) if budgets else UNLIMITED,
    )
    start = selection.start if limit is None else selection.start[:limit]
    claimed = _claimed(standing, start)
    if claimed:
        _write(claimed, start, ledger, now=now, policy=policy)
    if budgets:
        charge_attempts(budgets, Counter(item.task for item in claimed))
    if len(start) == len(selection.start):  # else what is refused may only be refused beside what is not started
        note_refusals(budgets, selection.refused, ledger=ledger)
    return claimed


def _claimed(standing: Standing, start: Sequence[NodeState]) -> list[Claimed]:
    owners = {node.id: key for key, task in standing.tasks.items() for node in task.nodes} if start else {}
    return [
        Claimed(
            attempt=new_id(),
            node=node.id,
            task=owners[node.id],
            team=standing.team,
            organization=standing.gate.organization,
            agent=node.agent,
            number=node.attempts + 1,
            fence=standing.scheduler.last_fence + place,
        )
        for place, node in enumerate(start, start=1)
    ]


def _others_agents(
    running: Mapping[UUID, RunningTask],
    leased_out: frozenset[UUID],
    *,
    external: bool,
    agents: Collection[UUID] | None,
) -> frozenset[UUID]:
    """Agents whose nodes somebody else starts: to this claim they are as good as busy."""
    if not external:
        return leased_out
    mine = leased_out if agents is None else leased_out & frozenset(agents)
    return frozenset(node.agent for task in running.values() for node in task.nodes) - mine


def _write(
    claimed: list[Claimed], nodes: tuple[NodeState, ...], ledger: Recorder, *, now: datetime, policy: Policy
) -> None:
    _write_rows(claimed, nodes, ledger, now=now, policy=policy)
    ledger.record(
        *(
            AttemptStarted(
                attempt=c.attempt, node=c.node, task=c.task, team=c.team, agent=c.agent, number=c.number, fence=c.fence
            )
            for c in claimed
        )
    )


def _write_rows(
    claimed: list[Claimed], nodes: tuple[NodeState, ...], ledger: Recorder, *, now: datetime, policy: Policy
) -> None:
    expires = now + timedelta(seconds=policy.lease_s)
    ledger.write_late(
        "UPDATE tasks_plannode SET status = %s, attempts = attempts + 1, started_at = %s"
        f" WHERE id IN ({marks(claimed)})",
        [[NodeStatus.RUNNING.value, now, *(c.node for c in claimed)]],
    )
    ledger.write_late(
        _NEW_ATTEMPT,
        [
            (
                c.attempt,
                c.organization,
                c.task,
                c.node,
                c.agent,
                c.number,
                AttemptStatus.RUNNING.value,
                c.fence,
                now,
                {},
            )
            for c in claimed
        ],
    )
    ledger.write_late(_NEW_LEASE, [(c.agent, c.team, c.attempt, c.fence, now, expires) for c in claimed])
    ledger.write_late(
        "INSERT INTO tasks_treelock (team_id, attempt_id, prefix) VALUES (%s, %s, %s)",
        [(c.team, c.attempt, prefix) for c, node in zip(claimed, nodes, strict=True) for prefix in node.prefixes],
    )
    ledger.write_late(
        "UPDATE tasks_teamscheduler SET last_fence = last_fence + %s WHERE team_id = %s",
        [[len(claimed), claimed[0].team]],
    )
