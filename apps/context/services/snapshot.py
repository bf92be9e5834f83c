"""Freeze the bound, compile, save. The agents start only afterwards, so that a crash leaves the record.

Nodes that were claimed together are compiled together: the thread of work is read once, and one transaction saves all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.context.models import ContextSnapshot
from apps.ledger.ids import new_id
from apps.ledger.services import recording
from apps.ledger.sql import marks
from apps.tasks.selectors import WorkOrder, live_cursor
from apps.tasks.services.claim import Claimed
from tikitaka.context.render import DependencyOutput, Turn, render
from tikitaka.context.window import LogLine, window
from tikitaka.ledger.events import ContextSnapshotted
from tikitaka.scheduling.graph import NodeState, NodeStatus, ancestors
from tikitaka.text import digest

_COLUMNS = (
    "id",
    "organization_id",
    "attempt_id",
    "strategy",
    "from_seq_exclusive",
    "to_seq_inclusive",
    "injected_messages",
    "deduplicated_messages",
    "dependency_nodes",
    "available_notes",
    "rendered",
    "rendered_digest",
    "created_at",
)
_INSERT = f"INSERT INTO context_contextsnapshot ({', '.join(_COLUMNS)}) VALUES ({marks(_COLUMNS)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """A claimed attempt with its order and what its agent holds."""

    claimed: Claimed
    order: WorkOrder
    available_notes: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What contexts are compiled from, read behind the claim, one question after the other.

    The threads of work and the graphs by task, which attempts still run under which fence, and the bound: the number
    of the newest message.
    """

    threads: Mapping[UUID, Sequence[LogLine]]
    graphs: Mapping[UUID, Sequence[NodeState]]
    held: Collection[tuple[UUID, int]]
    bound: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What the runtime gets: the prompt, the thread to continue if any, and the bound for the cursor."""

    attempt: UUID
    prompt: str
    thread_id: str | None
    to_seq_inclusive: int


def take_snapshots(material: Material, occasions: Sequence[Occasion]) -> list[Compiled]:
    """Saves the snapshots of attempts that are still held and returns their prompts; what is not held is left out.

    A new or memoryless runtime thread starts at the first message of the segment, a continued one at its cursor.
    """
    drafts = [
        (occasion, *_compile(occasion, material))
        for occasion in occasions
        if (occasion.claimed.attempt, occasion.claimed.fence) in material.held
    ]
    if not drafts:
        return []
    with recording(occasions[0].claimed.organization) as ledger:
        ledger.write_late(_INSERT, [_columns(row) for _, row, _ in drafts])
        ledger.record(*(_event(occasion, row) for occasion, row, _ in drafts))
    return [compiled for _, _, compiled in drafts]


def _compile(occasion: Occasion, material: Material) -> tuple[ContextSnapshot, Compiled]:
    claimed, order = occasion.claimed, occasion.order
    lines, graph = material.threads[order.task], material.graphs[order.task]
    cursor = live_cursor(claimed.agent) if order.remembers else None
    shown, dependencies = _dependencies(order, lines, graph)
    view = window(
        lines,
        agent=claimed.agent,
        from_seq_exclusive=cursor.shown_to_seq if cursor else lines[0].seq - 1,
        to_seq_inclusive=material.bound,
        shown_nodes=frozenset(shown),
        shown_messages=frozenset(line.id for line in lines if line.seq == order.first_seq),
    )
    rendered = render(_turn(order), injected=view.injected, dependencies=dependencies)
    snapshot = ContextSnapshot(
        id=new_id(),
        organization_id=claimed.organization,
        attempt_id=claimed.attempt,
        from_seq_exclusive=view.from_seq_exclusive,
        to_seq_inclusive=view.to_seq_inclusive,
        injected_messages=[line.id for line in view.injected],
        deduplicated_messages=list(view.deduplicated),
        dependency_nodes=[str(shown_node) for shown_node in shown],
        available_notes=[str(note) for note in occasion.available_notes],
        rendered=rendered,
        rendered_digest=digest(rendered),
        created_at=material.at,
    )
    thread = cursor.thread_id if cursor else None
    return snapshot, Compiled(
        attempt=claimed.attempt, prompt=rendered, thread_id=thread, to_seq_inclusive=material.bound
    )


def _event(occasion: Occasion, snapshot: ContextSnapshot) -> ContextSnapshotted:
    claimed = occasion.claimed
    return ContextSnapshotted(
        attempt=claimed.attempt,
        node=claimed.node,
        task=claimed.task,
        team=claimed.team,
        agent=claimed.agent,
        from_seq_exclusive=snapshot.from_seq_exclusive,
        to_seq_inclusive=snapshot.to_seq_inclusive,
        injected=len(snapshot.injected_messages),
        deduplicated=len(snapshot.deduplicated_messages),
        notes=occasion.available_notes,
        rendered_digest=snapshot.rendered_digest,
    )


def _dependencies(
    order: WorkOrder, lines: Sequence[LogLine], graph: Sequence[NodeState]
) -> tuple[list[UUID], list[DependencyOutput]]:
    """The finished transitive ancestors, in plan order, exactly as they are shown."""
    if not order.depends_on:
        return [], []
    states = {state.index: state for state in graph}
    outputs = {line.node: line for line in lines if line.node is not None}
    shown = [
        states[index].id
        for index in ancestors(order.index, states)
        if states[index].status is NodeStatus.COMPLETED and states[index].id in outputs
    ]
    return shown, [
        DependencyOutput(agent_name=outputs[pk].speaker, role=outputs[pk].role, text=outputs[pk].text) for pk in shown
    ]


def _turn(order: WorkOrder) -> Turn:
    return Turn(
        agent_name=order.agent_name,
        role=order.role,
        task_prompt=order.prompt,
        instruction=order.instruction,
        expected_output=order.expected_output,
        work_area=order.work_area,
        globs=order.globs,
        writes=order.writes,
    )


def _columns(row: ContextSnapshot) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _COLUMNS)
