"""Claiming ready nodes: lock the team's scheduler row, decide with the core, write node, attempt, lease and locks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F

from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import Recorder, recording
from apps.tasks.graphs import node_states
from apps.tasks.models import AgentLease, Attempt, PlanNode, Task, TaskStatus, TeamScheduler, TreeLock
from apps.tasks.services.log import lock_scheduler
from apps.teams.models import Team
from apps.teams.selectors import is_paused
from tikitaka.ledger.events import AttemptStarted
from tikitaka.policy import Policy
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.ready import Busy, TaskGraph, select_ready


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


def claim_ready(*, team: UUID, policy: Policy, limit: int | None = None) -> list[Claimed]:
    """Starts what may start now, at most `limit` nodes; attempts are counted before anything is dispatched."""
    found = Team.objects.select_related("organization").get(pk=team)
    with recording(found.organization_id) as ledger:
        scheduler = lock_scheduler(team)
        tasks = list(
            Task.objects.filter(team_id=team, status=TaskStatus.RUNNING, cancel_requested_at__isnull=True)
            .order_by("first_seq")
            .values_list("pk", flat=True)
        )
        states = node_states(tasks)
        owners = {node.id: task for task, nodes in states.items() for node in nodes}
        selection = select_ready(
            [TaskGraph(task=task, nodes=tuple(states[task])) for task in tasks],
            _busy(team),
            width=found.width,
            paused=is_paused(found),
        )
        start = selection.start if limit is None else selection.start[:limit]
        if not start:
            return []
        claimed = [
            Claimed(
                attempt=new_id(),
                node=node.id,
                task=owners[node.id],
                team=team,
                organization=found.organization_id,
                agent=node.agent,
                number=node.attempts + 1,
                fence=scheduler.last_fence + place,
            )
            for place, node in enumerate(start, start=1)
        ]
        _write(claimed, start, ledger, now=clock.now(), policy=policy)
        TeamScheduler.objects.filter(pk=team).update(last_fence=F("last_fence") + len(claimed))
    return claimed


def _busy(team: UUID) -> Busy:
    agents = list(AgentLease.objects.filter(team_id=team).values_list("agent_id", flat=True))
    prefixes = tuple(TreeLock.objects.filter(team_id=team).values_list("prefix", flat=True))
    return Busy(running=len(agents), agents=frozenset(agents), prefixes=prefixes)


def _write(
    claimed: list[Claimed], nodes: tuple[NodeState, ...], ledger: Recorder, *, now: datetime, policy: Policy
) -> None:
    expires = now + timedelta(seconds=policy.lease_s)
    PlanNode.objects.filter(pk__in=[c.node for c in claimed]).update(
        status=NodeStatus.RUNNING.value, attempts=F("attempts") + 1, started_at=now
    )
    Attempt.objects.bulk_create(
        Attempt(
            id=c.attempt,
            organization_id=c.organization,
            task_id=c.task,
            node_id=c.node,
            agent_id=c.agent,
            number=c.number,
            fence=c.fence,
            started_at=now,
        )
        for c in claimed
    )
    AgentLease.objects.bulk_create(
        AgentLease(
            agent_id=c.agent, team_id=c.team, attempt_id=c.attempt, fence=c.fence, heartbeat_at=now, expires_at=expires
        )
        for c in claimed
    )
    TreeLock.objects.bulk_create(
        TreeLock(team_id=c.team, attempt_id=c.attempt, prefix=prefix)
        for c, node in zip(claimed, nodes, strict=True)
        for prefix in node.prefixes
    )
    ledger.record(
        *(
            AttemptStarted(
                attempt=c.attempt, node=c.node, task=c.task, team=c.team, agent=c.agent, number=c.number, fence=c.fence
            )
            for c in claimed
        )
    )
