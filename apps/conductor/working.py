"""What an agent may ask and say while it works: its own context, its own notes, a proposal, its progress.

Each speaks as one agent or as one attempt, and reaches nothing but that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from apps.conductor.preparation import report_drift
from apps.context.models import ContextSnapshot
from apps.ledger import clock
from apps.ledger.queries import ask
from apps.ledger.rows import equal, every, instances
from apps.memory.selectors import Held, held_landings
from apps.memory.services.landing.reconcile import in_place
from apps.memory.services.propose import propose_note
from apps.memory.services.review import NoteText
from apps.tasks.models import Attempt, AttemptStatus, PlanNode
from apps.tasks.services.attempts import AttemptOver, StaleHolder
from apps.tasks.services.progress import report_progress
from apps.teams.models import Agent
from tikitaka.authz import Principal
from tikitaka.errors import Forbidden, Invalid, WrongState
from tikitaka.hosts import WorkspaceElsewhere
from tikitaka.text import require

_REPORT_CHARS = 2_000


class NotAnAgent(Forbidden):
    """Only an agent, or an attempt of one, works."""

    code = "not_an_agent"


class NothingRuns(WrongState):
    """You are not working on anything right now."""

    code = "no_attempt_running"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnContext:
    """What the attempt was given, exactly as it was saved before it began."""

    attempt: UUID
    task: UUID
    node: UUID
    role: str
    instruction: str
    rendered: str
    rendered_digest: str
    available_notes: tuple[str, ...]
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNote:
    """A note that landed in the agent's workspace. `in_place` is None where the file lies on another host."""

    note: UUID
    content: str
    description: str
    severity: str
    file: str
    landed_at: datetime
    age_s: int
    in_place: bool | None


def own_attempt(who: Principal) -> Attempt:
    """The attempt that a token is bound to, or the one that the agent of a token is working on."""
    grant = who.grant
    if grant is None or grant.agent is None:
        raise NotAnAgent
    running = [equal("agent_id", grant.agent), equal("status", AttemptStatus.RUNNING.value)]
    if grant.attempt:
        running.append(equal("id", grant.attempt))
    found = instances(Attempt, every(running), order="id").ask()
    if not found:
        raise NothingRuns
    return found[0]


def own_context(who: Principal) -> OwnContext:
    """The frozen context of the agent's own attempt."""
    attempt = own_attempt(who)
    snapshots, nodes = ask(
        instances(ContextSnapshot, equal("attempt_id", attempt.pk)),
        instances(PlanNode, equal("id", attempt.node_id)),
    )
    if not snapshots:
        raise NothingRuns("the attempt has not begun yet")
    (snapshot,), (node,) = snapshots, nodes
    return OwnContext(
        attempt=attempt.pk,
        task=attempt.task_id,
        node=attempt.node_id,
        role=node.role,
        instruction=node.instruction,
        rendered=snapshot.rendered,
        rendered_digest=snapshot.rendered_digest,
        available_notes=tuple(snapshot.available_notes),
        started_at=attempt.started_at,
    )


def own_notes(who: Principal) -> list[OwnNote]:
    """What landed for the agent and is still granted, with its age; whether each lies where it was put is looked at."""
    grant = who.grant
    if grant is None or grant.agent is None:
        raise NotAnAgent
    held = held_landings(grant.agent)
    there = _in_place(grant.agent, held)
    now = clock.now()
    return [
        OwnNote(
            note=item.note,
            content=item.content,
            description=item.description,
            severity=item.severity,
            file=item.file,
            landed_at=item.landed_at,
            age_s=max(0, int((now - item.landed_at).total_seconds())),
            in_place=None if there is None else item.note in there,
        )
        for item in held
    ]


def propose(who: Principal, *, content: str, description: str, why: str) -> None:
    """Hands in a statement; nobody learns here what becomes of it, since that depends on notes of others."""
    attempt = own_attempt(who)
    text = NoteText(content=content, description=description, rationale=why)
    propose_note(actor=who.actor, attempt=attempt, text=text, policy=settings.TIKITAKA_POLICY)


def report(who: Principal, *, text: str, percent: int | None) -> int:
    """Stores a report of the agent's progress in the trace of its attempt; how many there are."""
    attempt = own_attempt(who)
    if percent is not None and not 0 <= percent <= 100:
        raise Invalid(percent="must be from 0 to 100")
    try:
        return report_progress(
            attempt=attempt.pk,
            organization=attempt.organization_id,
            fence=attempt.fence,
            text=require("summary", text, limit=_REPORT_CHARS),
            percent=percent,
            policy=settings.TIKITAKA_POLICY,
        )
    except StaleHolder as error:
        raise AttemptOver from error


def _in_place(agent: UUID, held: Sequence[Held]) -> set[UUID] | None:
    """The disk is the state; what has drifted is reported as always."""
    try:
        found, drifted = in_place(agent=agent, landings=held)
    except WorkspaceElsewhere:
        return None
    if drifted:
        organization, team = Agent.objects.values_list("organization_id", "team_id").get(pk=agent)
        report_drift(organization, team, drifted)
    return set(found)
