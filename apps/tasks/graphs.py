"""The graphs of tasks, read often: what never changes of a node is read once per process, its state every time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.ledger.sql import fetch
from apps.tasks.models import PlanNode
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.locks import lock_prefixes

_KEPT = 256
_STATUSES = {status.value: status for status in NodeStatus}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fixed:
    """A node as its plan was saved."""

    id: UUID
    index: int
    agent: UUID
    depends_on: tuple[int, ...]
    prefixes: tuple[str, ...]


_graphs: OrderedDict[UUID, tuple[_Fixed, ...]] = OrderedDict()


def node_states(tasks: Collection[UUID]) -> dict[UUID, list[NodeState]]:
    """The graphs of some tasks as the rules see them, each in plan order."""
    return {task: _states(task) for task in tasks}


def _states(task: UUID) -> list[NodeState]:
    fixed = _fixed(task)
    if not fixed:
        return []
    rows = fetch('SELECT "index", status, attempts FROM tasks_plannode WHERE task_id = %s', [task])
    now: dict[int, tuple[Any, ...]] = {row[0]: row for row in rows}
    return [
        NodeState(
            id=node.id,
            index=node.index,
            agent=node.agent,
            status=_STATUSES[now[node.index][1]],
            depends_on=node.depends_on,
            prefixes=node.prefixes,
            attempts=now[node.index][2],
        )
        for node in fixed
    ]


def _fixed(task: UUID) -> tuple[_Fixed, ...]:
    """A graph that has been saved never changes; one that is not saved yet is not remembered."""
    found = _graphs.get(task)
    if found is None:
        rows = PlanNode.objects.filter(task_id=task).order_by("index")
        found = tuple(
            _Fixed(id=pk, index=index, agent=agent, depends_on=tuple(depends_on), prefixes=lock_prefixes(globs))
            for pk, index, agent, depends_on, globs in rows.values_list(
                "pk", "index", "agent_id", "depends_on", "globs"
            )
        )
        if found:
            _graphs[task] = found
            while len(_graphs) > _KEPT:
                _graphs.popitem(last=False)
    return found
