"""From claimed to ready to run: what each agent holds, its frozen context, where and how its program starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.conductor.incidents import open_incident
from apps.conductor.models import IncidentKind
from apps.conductor.teams import render_first
from apps.context.services.snapshot import Compiled, Material, Occasion, take_snapshots
from apps.ledger.queries import ask
from apps.memory.selectors import agents_with_landings
from apps.memory.services.landing.reconcile import Drifted, available_notes
from apps.tasks.graphs import node_states
from apps.tasks.selectors import WorkOrder, thread_lines, work_orders
from apps.tasks.services.attempts import held_attempts
from apps.tasks.services.claim import Claimed
from apps.tasks.services.log import log_end
from apps.teams.selectors import home_at, workspace_at
from tikitaka.policy import Policy
from tikitaka.ports import Launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An attempt whose snapshot is saved and whose agent may start."""

    claimed: Claimed
    order: WorkOrder
    compiled: Compiled
    launch: Launch


def prepare(claimed: Sequence[Claimed], *, policy: Policy) -> list[Prepared]:
    """Prepares attempts of one team that were claimed together; what is no longer held is left out."""
    if not claimed:
        return []
    tasks = list({item.task for item in claimed})
    found, holders, (bound, now), threads, graphs, held = ask(
        work_orders([item.node for item in claimed]),
        agents_with_landings([item.agent for item in claimed]),
        log_end(claimed[0].team),
        thread_lines(tasks),
        node_states(tasks),
        held_attempts([item.attempt for item in claimed]),
    )
    orders = {order.node: order for order in found}
    occasions = {
        item.attempt: Occasion(
            claimed=item, order=orders[item.node], available_notes=_available(item) if item.agent in holders else ()
        )
        for item in claimed
    }
    material = Material(threads=threads, graphs=graphs, held=held, bound=bound, at=now)
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
