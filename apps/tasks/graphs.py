"""The graphs of tasks, read often: a graph is read once per process, the states of its nodes every time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from apps.ledger.queries import Query, Rows
from apps.ledger.sql import as_uuid, marks
from apps.tasks.models import PlanNode
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.locks import lock_prefixes

_KEPT = 256
_graphs: OrderedDict[UUID, tuple[NodeState, ...]] = OrderedDict()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTask:
    """A task that runs: its nodes in plan order, whether it is being cancelled, whether a segment owns it."""

    nodes: tuple[NodeState, ...]
    cancelling: bool
    in_segment: bool

    def after(self, outcome: Mapping[UUID, NodeStatus]) -> RunningTask:
        """The same once some of its nodes stand as `outcome` says."""
        if not any(node.id in outcome for node in self.nodes):
            return self
        nodes = (replace(n, status=outcome[n.id]) if n.id in outcome else n for n in self.nodes)
        return replace(self, nodes=tuple(nodes))


def node_states(tasks: Collection[UUID]) -> Query[dict[UUID, tuple[NodeState, ...]]]:
    """The graphs of some tasks as the rules see them, each in plan order."""
    return Query(
        f'SELECT task_id, "index", status, attempts FROM tasks_plannode WHERE task_id IN ({marks(list(tasks))})',
        list(tasks),
        lambda rows: {task: _states(task, now) for task, now in _by_task(rows).items()},
    )


def running_tasks(team: UUID) -> Query[dict[UUID, RunningTask]]:
    """A team's tasks that run, by id in order of submission."""
    return Query(
        'SELECT n.task_id, n."index", n.status, n.attempts, t.cancel_requested_at, t.segment_id FROM tasks_plannode n'
        " JOIN tasks_task t ON t.id = n.task_id WHERE t.team_id = %s AND t.status = 'running' ORDER BY t.first_seq",
        [team],
        _running,
    )


def _running(rows: Rows) -> dict[UUID, RunningTask]:
    found: dict[Any, tuple[bool, bool, dict[int, tuple[str, int]]]] = {}
    for task, index, status, attempts, cancelled, segment in rows:
        known = found.get(task) or found.setdefault(task, (cancelled is not None, segment is not None, {}))
        known[2][index] = (status, attempts)
    return {
        (key := as_uuid(task)): RunningTask(nodes=_states(key, now), cancelling=cancelling, in_segment=owned)
        for task, (cancelling, owned, now) in found.items()
    }


def _by_task(rows: Rows) -> dict[UUID, dict[int, tuple[str, int]]]:
    """State and attempts of each node by its index, in the order in which the tasks come."""
    found: dict[Any, dict[int, tuple[str, int]]] = {}
    for task, index, status, attempts in rows:
        found.setdefault(task, {})[index] = (status, attempts)
    return {as_uuid(task): now for task, now in found.items()}


def _states(task: UUID, now: Mapping[int, tuple[str, int]]) -> tuple[NodeState, ...]:
    """Most nodes are as they were when this process looked last; making a thousand anew costs more than the query."""
    states = tuple(
        node
        if (node.status, node.attempts) == now[node.index]
        else replace(node, status=NodeStatus(now[node.index][0]), attempts=now[node.index][1])
        for node in _known(task)
    )
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


def _keep(task: UUID, states: tuple[NodeState, ...]) -> None:
    _graphs[task] = states
    while len(_graphs) > _KEPT:
        _graphs.popitem(last=False)
