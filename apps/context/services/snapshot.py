"""Freeze the bound, compile, save. The agent starts only afterwards, so that a crash leaves the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.context.models import ContextSnapshot
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import recording
from apps.tasks.models import Attempt, AttemptStatus, Message, PlanNode, Task
from apps.tasks.selectors import live_cursor, log_lines, node_states
from apps.tasks.services.attempts import StaleHolder
from apps.tasks.services.claim import Claimed
from apps.tasks.services.log import last_number
from tikitaka.context.render import DependencyOutput, Turn, render
from tikitaka.context.window import window
from tikitaka.ledger.events import ContextSnapshotted
from tikitaka.scheduling.graph import NodeStatus, ancestors
from tikitaka.text import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What the runtime gets: the prompt, the thread to continue if any, and the bound for the cursor."""

    prompt: str
    thread_id: str | None
    to_seq_inclusive: int


def take_snapshot(*, claimed: Claimed, segment_tasks: Sequence[UUID], available_notes: Sequence[UUID]) -> Compiled:
    """Saves the snapshot of a held attempt and returns its prompt. `segment_tasks` are the open segment's tasks.

    A new or memoryless thread starts at the first message of the segment; a continued one at its cursor.
    """
    node = PlanNode.objects.select_related("agent", "task").get(pk=claimed.node)
    bound = last_number(claimed.team)
    tasks = list(segment_tasks) or [claimed.task]
    cursor = live_cursor(claimed.agent) if node.agent.remembers else None
    start = cursor.shown_to_seq if cursor else _first_number(tasks) - 1
    shown, dependencies = _dependencies(node)
    prompt_message = Message.objects.filter(task=claimed.task, seq=node.task.first_seq).values_list("pk", flat=True)
    view = window(
        log_lines(tasks),
        agent=claimed.agent,
        from_seq_exclusive=start,
        to_seq_inclusive=bound,
        shown_nodes=shown,
        shown_messages=list(prompt_message),
    )
    rendered = render(_turn(node), injected=view.injected, dependencies=dependencies)
    snapshot = ContextSnapshot(
        id=new_id(),
        organization_id=claimed.organization,
        attempt_id=claimed.attempt,
        from_seq_exclusive=view.from_seq_exclusive,
        to_seq_inclusive=view.to_seq_inclusive,
        injected_messages=[str(line.id) for line in view.injected],
        deduplicated_messages=[str(message) for message in view.deduplicated],
        dependency_nodes=[str(shown_node) for shown_node in shown],
        available_notes=[str(note) for note in available_notes],
        rendered=rendered,
        rendered_digest=digest(rendered),
        created_at=clock.now(),
    )
    _save(snapshot, claimed, available_notes)
    return Compiled(prompt=rendered, thread_id=cursor.thread_id if cursor else None, to_seq_inclusive=bound)


def _save(snapshot: ContextSnapshot, claimed: Claimed, notes: Sequence[UUID]) -> None:
    with recording(claimed.organization) as ledger:
        held = Attempt.objects.filter(pk=claimed.attempt, fence=claimed.fence, status=AttemptStatus.RUNNING)
        if not held.exists():
            raise StaleHolder
        snapshot.save(force_insert=True)
        ledger.record(
            ContextSnapshotted(
                attempt=claimed.attempt,
                node=claimed.node,
                task=claimed.task,
                team=claimed.team,
                agent=claimed.agent,
                from_seq_exclusive=snapshot.from_seq_exclusive,
                to_seq_inclusive=snapshot.to_seq_inclusive,
                injected=len(snapshot.injected_messages),
                deduplicated=len(snapshot.deduplicated_messages),
                notes=tuple(notes),
                rendered_digest=snapshot.rendered_digest,
            )
        )


def _dependencies(node: PlanNode) -> tuple[list[UUID], list[DependencyOutput]]:
    """The finished transitive ancestors, in plan order, exactly as they are shown."""
    if not node.depends_on:
        return [], []
    states = {state.index: state for state in node_states([node.task_id])[node.task_id]}
    wanted = [
        states[index].id for index in ancestors(node.index, states) if states[index].status is NodeStatus.COMPLETED
    ]
    outputs = {
        message.node_id: message
        for message in Message.objects.filter(node__in=wanted).select_related("agent", "node").order_by("seq")
    }
    shown = [pk for pk in wanted if pk in outputs]
    return shown, [_output(outputs[pk]) for pk in shown]


def _output(message: Message) -> DependencyOutput:
    return DependencyOutput(
        agent_name=message.agent.name if message.agent else "",
        role=message.node.role if message.node else "",
        text=message.text,
    )


def _turn(node: PlanNode) -> Turn:
    return Turn(
        agent_name=node.agent.name,
        role=node.role,
        task_prompt=node.task.prompt,
        instruction=node.instruction,
        expected_output=node.expected_output,
        work_area=node.work_area,
        globs=tuple(node.globs),
        writes=node.writes,
    )


def _first_number(tasks: Sequence[UUID]) -> int:
    first: int | None = (
        Task.objects.filter(pk__in=tasks).order_by("first_seq").values_list("first_seq", flat=True).first()
    )
    return first or 1
