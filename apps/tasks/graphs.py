"""The graphs of tasks, read often: a graph is read once per process, the states of its nodes every time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from apps.ledger.sql import fetch
from apps.tasks.models import PlanNode
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.locks import lock_prefixes

_KEPT = 256
_graphs: OrderedDict[UUID, tuple[NodeState, ...]] = OrderedDict()


def node_states(tasks: Collection[UUID]) -> dict[UUID, list[NodeState]]:
    """The graphs of some tasks as the rules see them, each in plan order."""
    return {task: _states(task) for task in tasks}


def _states(task: UUID) -> list[NodeState]:
    """Most nodes are as they were when this process looked last; making a thousand anew costs more than the query."""
    known = _known(task)
    if not known:
        return []
    rows = fetch('SELECT "index", status, attempts FROM tasks_plannode WHERE task_id = %s', [task])
    now = {index: (status, attempts) for index, status, attempts in rows}
    states = [
        node
        if (node.status, node.attempts) == now[node.index]
        else replace(node, status=NodeStatus(now[node.index][0]), attempts=now[node.index][1])
        for node in known
    ]
    _keep(task, states)
    return states


def _known(task: UUID) -> tuple[NodeState, ...]:
    """A graph that has been saved never changes but for its nodes' states; one that is not saved is not kept."""
    found = _graphs.get(task)
    if found is None:
        rows = PlanNode.objects.filter(task_id=task).order_by("index")
        found = tuple(
            NodeState(
                id=pk,
                index=index,
                agent=agent,
                status=NodeStatus.QUEUED,
                depends_on=tuple(depends_on),
                prefixes=lock_prefixes(globs),
            )
            for pk, index, agent, depends_on, globs in rows.values_list(
                "pk", "index", "agent_id", "depends_on", "globs"
            )
        )
    return found


def _keep(task: UUID, states: Sequence[NodeState]) -> None:
    _graphs[task] = tuple(states)
    while len(_graphs) > _KEPT:
        _graphs.popitem(last=False)
