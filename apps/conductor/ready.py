"""The queued nodes of every team: which could start now and since when, and what holds the others. A few queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.tasks.budgets import purses
from apps.tasks.models import AgentLease, PlanNode, TaskStatus
from tikitaka.scheduling.budget import Purse
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.locks import lock_prefixes
from tikitaka.scheduling.ready import Busy, Hold, TaskGraph, select_ready

_NODE = ("pk", "index", "agent_id", "status", "depends_on", "globs", "finished_at")
_TASK = ("task_id", "task__submitted_at", "task__started_at", "task__organization__paused_at")
_TEAM = (
    "task__team_id",
    "task__organization_id",
    "task__team__width",
    "task__team__paused_at",
    "task__team__archived_at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamQueue:
    """One team's queued nodes; `ready_since` holds a time for each node that nothing but a free worker is missing."""

    team: UUID
    ready_since: tuple[datetime, ...]
    held: Mapping[UUID, Hold]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """All teams with running tasks, and since when the leases of dead workers are over."""

    teams: tuple[TeamQueue, ...]
    expired_since: tuple[datetime, ...]


def queues(now: datetime) -> Queues:
    """What dispatching would see at this moment, team by team."""
    rows = PlanNode.objects.filter(task__status=TaskStatus.RUNNING, task__cancel_requested_at__isnull=True)
    by_team: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for row in rows.order_by("task__first_seq", "index").values(*_NODE, *_TASK, *_TEAM):
        by_team[row["task__team_id"]].append(row)
    busy, expired = _leases(now)
    paying = purses({team: nodes[0]["task__organization_id"] for team, nodes in by_team.items()}, now)
    return Queues(
        teams=tuple(_queue(team, nodes, busy.get(team, _IDLE), paying[team]) for team, nodes in by_team.items()),
        expired_since=expired,
    )


_IDLE = Busy(running=0, agents=frozenset(), prefixes=())


def _queue(team: UUID, rows: Sequence[Mapping[str, Any]], busy: Busy, purse: Purse) -> TeamQueue:
    by_task: dict[UUID, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for row in rows:
        by_task[row["task_id"]][row["index"]] = row
    graphs = [TaskGraph(task=task, nodes=tuple(map(_state, nodes.values()))) for task, nodes in by_task.items()]
    first = rows[0]
    switches = ("task__team__paused_at", "task__team__archived_at", "task__organization__paused_at")
    paused = any(first[switch] for switch in switches)
    selection = select_ready(graphs, busy, width=first["task__team__width"], paused=paused, purse=purse)
    starting = {node.id for node in selection.start}
    ready = (_since(row, nodes) for nodes in by_task.values() for row in nodes.values() if row["pk"] in starting)
    return TeamQueue(team=team, ready_since=tuple(sorted(ready)), held=selection.held)


def _state(row: Mapping[str, Any]) -> NodeState:
    return NodeState(
        id=row["pk"],
        index=row["index"],
        agent=row["agent_id"],
        status=NodeStatus(row["status"]),
        depends_on=tuple(row["depends_on"]),
        prefixes=lock_prefixes(row["globs"]),
    )


def _since(row: Mapping[str, Any], nodes: Mapping[int, Mapping[str, Any]]) -> datetime:
    """The end of the last dependency; without one, the start of the task."""
    ends: list[datetime | None] = [nodes[index]["finished_at"] for index in row["depends_on"]]
    known: list[datetime] = [moment for moment in (row["task__started_at"], *ends) if moment is not None]
    return max(known, default=row["task__submitted_at"])


def _leases(now: datetime) -> tuple[dict[UUID, Busy], tuple[datetime, ...]]:
    agents: dict[UUID, set[UUID]] = defaultdict(set)
    prefixes: dict[UUID, list[str]] = defaultdict(list)
    expired: dict[UUID, datetime] = {}
    rows = AgentLease.objects.values_list("team_id", "agent_id", "expires_at", "attempt__locks__prefix")
    for team, agent, expires_at, prefix in rows:
        agents[team].add(agent)
        if prefix is not None:
            prefixes[team].append(prefix)
        if expires_at < now:
            expired[agent] = expires_at
    busy = {
        team: Busy(running=len(held), agents=frozenset(held), prefixes=tuple(prefixes[team]))
        for team, held in agents.items()
    }
    return busy, tuple(sorted(expired.values()))
