"""From claimed to ready to run: what each agent holds, its frozen context, where and how its program starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.conductor.incidents import open_incident
from apps.conductor.models import IncidentKind
from apps.conductor.teams import render_first
from apps.context.services.snapshot import Compiled, Material, Occasion, take_snapshots
from apps.ledger.queries import Question
from apps.ledger.sql import together
from apps.memory.selectors import agents_with_landings
from apps.memory.services.landing.reconcile import Drifted, available_notes
from apps.tasks.graphs import node_states
from apps.tasks.selectors import WorkOrder, thread_lines, work_orders
from apps.tasks.services.attempts import held_attempts
from apps.tasks.services.claim import Claimed
from apps.tasks.services.log import log_end
from apps.teams.selectors import home_at, workspace_at
from tikitaka.context.window import LogLine
from tikitaka.policy import Policy
from tikitaka.ports import Launch
from tikitaka.scheduling.graph import NodeState


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An attempt whose snapshot is saved and whose agent may start."""

    claimed: Claimed
    order: WorkOrder
    compiled: Compiled
    launch: Launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What must be known of attempts of one team that were claimed together, to be answered behind the claim."""

    claimed: Sequence[Claimed]
    orders: Question[list[WorkOrder]]
    holders: Question[set[UUID]]
    log_end: Question[tuple[int, datetime]]
    threads: Question[dict[UUID, list[LogLine]]]
    graphs: Question[dict[UUID, tuple[NodeState, ...]]]
    held: Question[set[tuple[UUID, int]]]

    def questions(self) -> tuple[Question[Any], ...]:
        """In the order in which they must be answered: whoever is held last was held while the rest was read."""
        return self.orders, self.holders, self.log_end, self.threads, self.graphs, self.held


def inquire(claimed: Sequence[Claimed]) -> Inquiry | None:
    """The questions about some attempts, not asked yet; None about none."""
    if not claimed:
        return None
    tasks = list({item.task for item in claimed})
    return Inquiry(
        claimed=claimed,
        orders=Question(work_orders([item.node for item in claimed])),
        holders=Question(agents_with_landings([item.agent for item in claimed])),
        log_end=Question(log_end(claimed[0].team)),
        threads=Question(thread_lines(tasks)),
        graphs=Question(node_states(tasks)),
        held=Question(held_attempts([item.attempt for item in claimed])),
    )


def prepare(inquiry: Inquiry, *, policy: Policy) -> list[Prepared]:
    """Prepares the attempts that were asked about; what is no longer held is left out."""
    claimed = inquiry.claimed
    with together():
        for question in inquiry.questions():
            question.send()
    orders = {order.node: order for order in inquiry.orders.answer()}
    holders, (bound, now) = inquiry.holders.answer(), inquiry.log_end.answer()
    occasions = {
        item.attempt: Occasion(
            claimed=item, order=orders[item.node], available_notes=_available(item) if item.agent in holders else ()
        )
        for item in claimed
    }
    material = Material(
        threads=inquiry.threads.answer(),
        graphs=inquiry.graphs.answer(),
        held=inquiry.held.answer(),
        bound=bound,
        at=now,
    )
    return [
        _prepared(occasions[compiled.attempt], compiled, policy)
        for compiled in take_snapshots(material, list(occasions.values()))
    ]


def report_drift(organization: UUID, team: UUID, drifted: Sequence[Drifted]) -> None:
    """Drift is an incident; the run goes on without what has drifted."""
    for item in drifted:
        open_incident(
            organization=organization,
            team=team,
            kind=IncidentKind.DRIFT,
            subject=f"agent {item.agent} {item.file}",
            detail=item.fault,
        )


def _available(claimed: Claimed) -> tuple[UUID, ...]:
    notes, drifted = available_notes(agent=claimed.agent)
    report_drift(claimed.organization, claimed.team, drifted)
    return tuple(notes)


def _prepared(occasion: Occasion, compiled: Compiled, policy: Policy) -> Prepared:
    order = occasion.order
    if not workspace_at(order.workspace).is_dir():
        render_first(order.agent)
    launch = Launch(
        attempt_id=occasion.claimed.attempt,
        workspace=workspace_at(order.workspace),
        home=home_at(order.workspace),
        command=order.command,
        prompt=compiled.prompt,
        thread_id=compiled.thread_id,
        timeout_s=policy.turn_timeout_s,
        output_bytes_max=policy.output_bytes_max,
    )
    return Prepared(claimed=occasion.claimed, order=order, compiled=compiled, launch=launch)
