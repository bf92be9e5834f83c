"""From queued to a saved graph. Every step is a guarded update, so that two planners cannot both save."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.services.authorize import authorize
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import recording
from apps.tasks.models import PlanNode, PlanSource, Task, TaskStatus
from apps.teams.models import Agent
from tikitaka.authz import Permission, Principal
from tikitaka.errors import WrongState
from tikitaka.ledger.events import PlanAccepted, PlanFellBack, PlanRejected
from tikitaka.planning.areas import globs_for
from tikitaka.planning.order import topological_order
from tikitaka.planning.plan import Accepted, PlannedNode
from tikitaka.policy import Policy

_GRACE_S = 30


class AgentRetired(WrongState):
    """The work is planned for an agent that has been retired; it must be planned anew."""

    code = "agent_retired"


def refuse_retired(agents: Collection[UUID]) -> None:
    """Raises AgentRetired; inside a transaction, none of the agents can be retired before it ends."""
    locked = Agent.objects.select_for_update(no_key=True).filter(pk__in=agents).order_by("pk")
    if any(agent.retired_at is not None for agent in locked):
        raise AgentRetired


def start_planning(*, task: UUID, policy: Policy) -> bool:
    """Queued becomes planning; False when somebody else was faster or the task was cancelled meanwhile."""
    until = clock.now() + timedelta(seconds=policy.planner_timeout_s + _GRACE_S)
    return bool(_tasks(task, TaskStatus.QUEUED).update(status=TaskStatus.PLANNING, planning_until=until))


def requeue_dead_planning() -> int:
    """Tasks whose planner died are queued again; how many."""
    dead = Task.objects.filter(status=TaskStatus.PLANNING, planning_until__lt=clock.now())
    return dead.update(status=TaskStatus.QUEUED, planning_until=None)


def requeue_planning(task: UUID) -> bool:
    """Puts a task that its planner could not finish back at once; False when it is no longer planning."""
    return bool(_tasks(task, TaskStatus.PLANNING).update(status=TaskStatus.QUEUED, planning_until=None))


def save_plan(
    *, task: Task, plan: Accepted, agents: Sequence[Agent], source: PlanSource, reasons: Sequence[str] = ()
) -> bool:
    """Saves the graph in Kahn's order and starts the task, or leaves it planned when it was submitted as plan only.

    False when the task is no longer planning: it was cancelled, or another planner saved first. Refuses a
    plan for an agent that was retired since the planner was shown it.
    """
    nodes = _nodes(task, plan, agents)
    with recording(task.organization_id) as ledger:
        after = TaskStatus.PLANNED if task.plan_only else TaskStatus.RUNNING
        changed = _tasks(task.pk, TaskStatus.PLANNING).update(
            status=after,
            plan_source=source,
            plan_reasons=list(reasons),
            started_at=None if task.plan_only else clock.now(),
        )
        if not changed:
            return False
        refuse_retired({node.agent_id for node in nodes})
        PlanNode.objects.bulk_create(nodes)
        ledger.record(*(PlanRejected(task=task.pk, team=task.team_id, reason=reason) for reason in reasons))
        if source is PlanSource.FALLBACK:
            ledger.record(PlanFellBack(task=task.pk, team=task.team_id, nodes=len(nodes), reasons=tuple(reasons)))
        else:
            ledger.record(PlanAccepted(task=task.pk, team=task.team_id, source=source.value, nodes=len(nodes)))
    return True


def approve_plan(*, actor: Principal, task: Task) -> None:
    """A person lets a planned task run."""
    authorize(actor, Permission.TASK_RUN, task.team, organization=task.organization_id, object_id=task.pk)

    with recording(task.organization_id, actor=actor.actor) as ledger:
        if not _tasks(task.pk, TaskStatus.PLANNED).update(status=TaskStatus.RUNNING, started_at=clock.now()):
            raise WrongState("the task has no plan that waits for approval")
        ledger.record(PlanAccepted(task=task.pk, team=task.team_id, source="approved", nodes=task.nodes.count()))


def _tasks(task: UUID, status: TaskStatus) -> QuerySet[Task]:
    return Task.objects.filter(pk=task, status=status, cancel_requested_at__isnull=True)


def _nodes(task: Task, plan: Accepted, agents: Sequence[Agent]) -> list[PlanNode]:
    """Nodes renumbered into Kahn's order, dependencies with them."""
    order = topological_order([node.depends_on for node in plan.nodes]) or []
    place = {old: new for new, old in enumerate(order, start=1)}
    return [_node(task, place[old], plan.nodes[old - 1], place, agents) for old in order]


def _node(task: Task, index: int, node: PlannedNode, place: dict[int, int], agents: Sequence[Agent]) -> PlanNode:
    return PlanNode(
        id=new_id(),
        organization_id=task.organization_id,
        task=task,
        index=index,
        agent=agents[node.agent - 1],
        role=node.role,
        instruction=node.instruction,
        expected_output=node.expected_output,
        work_area=node.work_area,
        globs=list(globs_for(node.work_area, writes=node.writes, areas=task.team.work_areas)),
        writes=node.writes,
        depends_on=sorted(place[parent] for parent in node.depends_on),
    )
