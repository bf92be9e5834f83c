"""The graph at run time: its nodes' states, the one failed-ancestor rule, and how a task ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class NodeStatus(StrEnum):
    """A node that a failed ancestor blocks is cancelled and names the ancestor."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL_NODES = frozenset({NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """What the rules need to know of one node. `index` is its place in the plan, from 1."""

    id: UUID
    index: int
    agent: UUID
    status: NodeStatus
    depends_on: tuple[int, ...]
    prefixes: tuple[str, ...] = ()
    attempts: int = 0


def failed_ancestor(index: int, nodes: Mapping[int, NodeState]) -> int | None:
    """The nearest transitive ancestor that failed, by index; the one rule that runner and memory share."""
    seen: set[int] = set()
    queue = deque(nodes[index].depends_on)
    while queue:
        ancestor = queue.popleft()
        if ancestor in seen:
            continue
        seen.add(ancestor)
        if nodes[ancestor].status is NodeStatus.FAILED:
            return ancestor
        queue.extend(nodes[ancestor].depends_on)
    return None


def ancestors(index: int, nodes: Mapping[int, NodeState]) -> tuple[int, ...]:
    """All transitive ancestors, in plan order."""
    seen: set[int] = set()
    queue = deque(nodes[index].depends_on)
    while queue:
        ancestor = queue.popleft()
        if ancestor not in seen:
            seen.add(ancestor)
            queue.extend(nodes[ancestor].depends_on)
    return tuple(sorted(seen))


def blocked(nodes: Sequence[NodeState]) -> dict[UUID, UUID]:
    """Queued nodes that a failure blocks, each with the ancestor that blocks it."""
    by_index = {node.index: node for node in nodes}
    if not any(node.status is NodeStatus.FAILED for node in nodes):
        return {}
    found = {}
    for node in nodes:
        if node.status is NodeStatus.QUEUED:
            ancestor = failed_ancestor(node.index, by_index)
            if ancestor is not None:
                found[node.id] = by_index[ancestor].id
    return found


def settled_status(statuses: Sequence[NodeStatus]) -> str | None:
    """How a task ends: None while a node can still run; completed, partial or failed."""
    if any(status not in TERMINAL_NODES for status in statuses):
        return None
    done = sum(status is NodeStatus.COMPLETED for status in statuses)
    if done == len(statuses):
        return "completed"
    return "partial" if done else "failed"
