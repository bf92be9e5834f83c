"""The ready set of a team: which queued nodes may start now, in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from tikitaka.planning.order import topological_order
from tikitaka.scheduling.budget import UNLIMITED, Purse, Refused
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.locks import conflict


class Hold(StrEnum):
    """Why a queued node does not start now."""

    DEPENDENCY = "dependency"
    AGENT_BUSY = "agent_busy"
    LOCKED = "locked"
    WIDTH = "width"
    PAUSED = "paused"
    BUDGET = "out_of_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGraph:
    """One running task: its nodes in plan order. Tasks are given in order of submission."""

    task: UUID
    nodes: tuple[NodeState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """What runs now in the team: how many attempts, which agents, which prefixes are held."""

    running: int
    agents: frozenset[UUID]
    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Nodes to start, in order, the hold of every other queued node, and the budgets that held some of them."""

    start: tuple[NodeState, ...]
    held: Mapping[UUID, Hold]
    refused: tuple[Refused, ...] = ()


def select_ready(
    graphs: Sequence[TaskGraph], busy: Busy, *, width: int, paused: bool = False, purse: Purse = UNLIMITED
) -> Selection:
    """Kahn's order inside a task, ties by the planner's order; older tasks first. Reading nodes hold no prefix.

    A held node does not hold up those after it: whatever can run beside it does. Budgets are asked last, so that one
    that refuses is what alone keeps a node from running.
    """
    start: list[NodeState] = []
    held: dict[UUID, Hold] = {}
    refused: dict[Refused, None] = {}
    begun: Counter[UUID] = Counter()
    agents, prefixes, running = set(busy.agents), list(busy.prefixes), busy.running
    for graph in graphs:
        by_index = {node.index: node for node in graph.nodes}
        order = topological_order([by_index[i].depends_on for i in sorted(by_index)]) or sorted(by_index)
        for index in order:
            node = by_index[index]
            if node.status is not NodeStatus.QUEUED:
                continue
            hold = _hold(node, by_index, agents, prefixes, running, width=width, paused=paused)
            if hold is not None:
                held[node.id] = hold
                continue
            refusal = purse.refusal(graph.task, node.agent, begun)
            if refusal is not None:
                held[node.id] = Hold.BUDGET
                refused[refusal] = None
                continue
            start.append(node)
            begun.update(account.key for account in purse.accounts(graph.task))
            agents.add(node.agent)
            prefixes.extend(node.prefixes)
            running += 1
    return Selection(start=tuple(start), held=held, refused=tuple(refused))


def _hold(
    node: NodeState,
    by_index: Mapping[int, NodeState],
    agents: Collection[UUID],
    prefixes: Sequence[str],
    running: int,
    *,
    width: int,
    paused: bool,
) -> Hold | None:
    if any(by_index[parent].status is not NodeStatus.COMPLETED for parent in node.depends_on):
        return Hold.DEPENDENCY
    if paused:
        return Hold.PAUSED
    if node.agent in agents:
        return Hold.AGENT_BUSY
    if conflict(node.prefixes, prefixes):
        return Hold.LOCKED
    if running >= width:
        return Hold.WIDTH
    return None
