"""The story of a task, from prompt to landed note, one step after the other.

Each step calls the services of the apps below, hands values from one to the next, and says whom to wake. No step holds
a transaction over a model call, a run or a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.accounts.services.authorize import authorize
from apps.conductor.incidents import close_cured, open_incident
from apps.conductor.models import IncidentKind
from apps.conductor.wake import wake
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import recording
from apps.memory.models import Flush, Landing, Note, Segment
from apps.memory.selectors import due_flushes, landings_to_remove, open_segment, segment_of_running, uncovered_nodes
from apps.memory.services.distil import distil
from apps.memory.services.flushes import (
    claim_flush,
    make_due_flushes,
    make_early_flush,
    make_late_flushes,
    reset_flushes,
    retry_flush,
)
from apps.memory.services.landing.land import Landed, LandingHeld, land_note
from apps.memory.services.landing.remove import remove_landing
from apps.memory.services.segments import assign_next, close_segment, reopen_if_alone
from apps.memory.services.withdraw import reset_segment_notes
from apps.providers.language import extractor, planner
from apps.providers.services.vectors import EncoderOff, vectors_for
from apps.tasks.models import Attempt, PlanNode, PlanSource, Task
from apps.tasks.services.budgets import charge_call, refuse_call
from apps.tasks.services.finish import Finished
from apps.tasks.services.plan import AgentRetired, requeue_planning, save_plan, start_planning
from apps.tasks.services.stop import cancel_task, resume_task
from apps.tasks.services.submit import Submitted, submit_task
from apps.teams.models import Agent, Team
from apps.teams.selectors import active_agents
from tikitaka.authz import Permission, Principal
from tikitaka.errors import Invalid, WrongState
from tikitaka.ledger.events import ModelCalled
from tikitaka.planning.fallback import sequential_plan
from tikitaka.planning.plan import Rejected, parse_plan, validate_plan
from tikitaka.planning.prompt import RosterEntry, plan_request
from tikitaka.policy import Policy
from tikitaka.ports import ModelReply, ModelRequest
from tikitaka.review.states import NoteStatus
from tikitaka.safety import redact_captured
from tikitaka.scheduling.budget import NO_LIMITS, Limits
from tikitaka.segments.boundaries import node_drift
from tikitaka.segments.signals import SignalReading, read
from tikitaka.text import digest

# --- 1. Submit


def submit(
    *,
    actor: Principal,
    team: Team,
    prompt: str,
    plan: Sequence[Any] | None = None,
    plan_only: bool = False,
    limits: Limits = NO_LIMITS,
) -> Submitted:
    """Saves the task and wakes the rest of the story. A ready plan is validated first; a bad one is refused whole."""
    if plan is None:
        submitted = submit_task(actor=actor, team=team, prompt=prompt, plan_only=plan_only, limits=limits)
    else:
        submitted = _submit_with_plan(actor, team, prompt, plan, plan_only, limits)
    wake("assign", team.pk)
    return submitted


def _submit_with_plan(
    actor: Principal, team: Team, prompt: str, plan: Sequence[Any], plan_only: bool, limits: Limits
) -> Submitted:
    authorize(actor, Permission.TASK_RUN, team, organization=team.organization_id, object_id=team.pk)
    agents = list(active_agents(team.pk))
    validated = validate_plan(plan, agents=len(agents), areas=list(team.work_areas), policy=_policy())
    if isinstance(validated, Rejected):
        raise Invalid(plan=validated.reason.value)
    with recording(team.organization_id, actor=actor.actor):
        submitted = submit_task(actor=actor, team=team, prompt=prompt, plan_only=plan_only, limits=limits)
        start_planning(task=submitted.task.pk, policy=_policy())
        save_plan(task=submitted.task, plan=validated, agents=agents, source=PlanSource.CALLER)
    return submitted


def assign_segments(team: UUID) -> None:
    """Every task that has no segment gets one, in the order of the team's log; then it is planned."""
    while True:
        task = assign_next(team=team, read_signal=_read_signal, policy=_policy())
        if task is None:
            break
        wake("plan", task.pk)
    make_late_flushes(team=team)
    wake_flushes()
    wake("dispatch", team)


def _read_signal(prompts: Sequence[str], prompt: str) -> SignalReading | None:
    """The topic signal of the policy; without an encoder no topic closes a segment, only caps and idleness do."""
    try:
        vectors = {} if _policy().segment_signal == "jsd" else vectors_for([*prompts, prompt])
    except EncoderOff:
        return None
    return read(prompts, prompt, vectors=vectors, policy=_policy())


# --- 2. Plan


def plan(task: UUID) -> None:
    """One model call; whatever is wrong with the answer leads to the sequential plan, with the reasons kept."""
    policy = _policy()
    model = planner()
    row = Task.objects.select_related("team__organization").get(pk=task)
    if model.name != "off" and refuse_call(
        organization=row.organization_id, team=row.team_id, task=task, priced_as=model.priced_as
    ):
        return  # it stays queued; whoever raises the budget wakes it, and the sweep looks again
    if not start_planning(task=task, policy=policy):
        return
    row.refresh_from_db()
    agents = list(active_agents(row.team_id))
    areas = list(row.team.work_areas)
    request = plan_request(
        prompt=redact_captured(row.prompt).text,
        team_description=redact_captured(row.team.description).text,
        roster=[RosterEntry(name=agent.name, description=agent.description) for agent in agents],
        areas=areas,
        policy=policy,
    )
    reply = model.complete(request)
    parsed = parse_plan(_body(reply), agents=len(agents), areas=areas, policy=policy)
    outcome = parsed.reason.value if isinstance(parsed, Rejected) else "accepted"
    _record_call(row, request, reply, outcome, model.priced_as)
    try:
        if isinstance(parsed, Rejected):
            _fall_back(row, agents, parsed.reason.value, policy)
        else:
            save_plan(task=row, plan=parsed, agents=agents, source=PlanSource.MODEL)
    except AgentRetired:  # while the model thought: the next call is shown who is left
        requeue_planning(task)
        wake("plan", task)
    wake("dispatch", row.team_id)


def _fall_back(task: Task, agents: Sequence[Agent], reason: str, policy: Policy) -> None:
    fallback = sequential_plan(task.prompt, [agent.name for agent in agents], policy=policy)
    save_plan(task=task, plan=fallback, agents=agents, source=PlanSource.FALLBACK, reasons=[reason])


def _body(reply: ModelReply) -> dict[str, Any] | None:
    """A reply as the parser reads it: no answer in time is a timeout, no model at all is `off`."""
    if reply.failure == "timeout":
        return {"error": "timeout"}
    if reply.failure == "off":
        return {"error": "off"}
    return dict(reply.body) if reply.body is not None else None


def _record_call(task: Task, request: ModelRequest, reply: ModelReply, outcome: str, priced_as: str) -> None:
    if reply.failure == "off":
        return
    with recording(task.organization_id) as ledger:
        charge_call(
            organization=task.organization_id,
            team=task.team_id,
            task=task.pk,
            sent=request.system + request.user,
            reply=reply,
            priced_as=priced_as,
        )
        ledger.record(
            ModelCalled(
                call=new_id(),
                team=task.team_id,
                task=task.pk,
                purpose="plan",
                provider=reply.provider,
                model=reply.model,
                outcome=outcome,
                sent_digest=digest(request.system + request.user),
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
            )
        )


# --- 3 to 6. Schedule, inject, run, settle: apps.conductor.runner


def go_on(finished: Finished) -> None:
    """Ends have been written, by a worker of ours or by somebody else's: what they led to is looked at."""
    for task in finished.settled_tasks:
        wake("settle", task)
    for task in finished.going_on:
        wake("consider_drift", task)


def settle(task: UUID) -> None:
    """A task has ended: its segment may be ready to be distilled, and what waited for its agents may run."""
    wake_flushes()
    wake("dispatch", Task.objects.values_list("team_id", flat=True).get(pk=task))


def cancel(*, actor: Principal, task: Task) -> None:
    """Stops a task; its attempts are killed by whoever runs them."""
    for attempt in cancel_task(actor=actor, task=task):
        wake("kill", attempt)
    wake("dispatch", task.team_id)
    wake_flushes()


def resume(*, actor: Principal, task: Task, node: UUID | None = None) -> None:
    """Runs again what did not finish, or one node of it and what that blocked.

    The segment's automatic notes are taken back, its flush waits again.
    """
    authorize(actor, Permission.TASK_RUN, task.team, organization=task.organization_id, object_id=task.pk)
    with recording(task.organization_id, actor=actor.actor) as ledger:
        resume_task(actor=actor, task=task, node=node)
        segment = _segment_of(task)
        if segment is not None:
            reset_segment_notes(segment=segment, ledger=ledger)
            reset_flushes(segment=segment)
            reopen_if_alone(segment=segment, ledger=ledger)
    wake_removals()
    wake("plan", task.pk)
    wake("dispatch", task.team_id)


# --- 7. Flush


def wake_flushes() -> int:
    """Makes the flushes that are missing and wakes each that is due, also what a resume put back; how many."""
    make_due_flushes()
    due = due_flushes(clock.now(), _policy().flush_attempts_max)
    for flush_id in due:
        wake("flush", flush_id)
    return len(due)


def flush(flush_id: UUID) -> None:
    """Distils one flush: extraction, recognition, placement, screening, review items."""
    model = extractor()
    if model.name != "off" and _flush_out_of_budget(flush_id, model.priced_as):
        return  # it stays due, and no attempt of it is counted
    claimed = claim_flush(flush=flush_id, policy=_policy())
    if claimed is None:
        return
    notes = distil(claimed=claimed, model=model, policy=_policy())
    for note in Note.objects.filter(pk__in=notes, status=NoteStatus.APPROVED.value).values_list("pk", flat=True):
        wake("land", note)


def _flush_out_of_budget(flush_id: UUID, priced_as: str) -> bool:
    """Only the next call costs anything: a reply that is there is worked on whatever the budgets say."""
    row = (
        Flush.objects.filter(pk=flush_id, reply__isnull=True).values_list("organization_id", "segment__team_id").first()
    )
    return row is not None and bool(refuse_call(organization=row[0], team=row[1], task=None, priced_as=priced_as))


def retry_failed_flush(*, actor: Principal, flush_row: Flush) -> None:
    """A person lets a flush that ran out of attempts be tried again."""
    segment = flush_row.segment
    authorize(actor, Permission.TASK_RUN, segment.team, organization=segment.organization_id, object_id=flush_row.pk)
    retry_flush(flush=flush_row)
    subject = f"flush {flush_row.pk}"
    close_cured(organization=segment.organization_id, kind=IncidentKind.STUCK_WORK, subject=subject)
    wake("flush", flush_row.pk)


def consider_drift(task: UUID) -> None:
    """A long task whose nodes move away from what went before is distilled early, as far as it is finished."""
    segment = segment_of_running(task)
    if segment is None:
        return
    drift = _measure_drift(uncovered_nodes(segment, [task]))
    if drift is None or drift <= _policy().node_drift_bp:
        return
    row = Segment.objects.get(pk=segment)
    if not Flush.objects.filter(segment=row, final=False).exclude(status="done").exists():
        for early in make_early_flush(segment=row):
            wake("flush", early)


def _measure_drift(buffered: Sequence[UUID]) -> int | None:
    """Distance of the newest finished node's output to the mean of those before it; kept with the node."""
    if len(buffered) < _policy().node_drift_nodes_min:
        return None  # a short task is distilled once, when its segment closes
    rows = Attempt.objects.filter(node__in=buffered, status="completed").order_by("number")
    outputs = dict(rows.values_list("node_id", "output"))
    texts = [outputs[node] for node in buffered if node in outputs]
    if len(texts) < _policy().node_drift_nodes_min:
        return None
    try:
        vectors = vectors_for(texts)
    except EncoderOff:
        return None
    drift = node_drift([vectors[text] for text in texts[:-1]], vectors[texts[-1]])
    PlanNode.objects.filter(pk=buffered[-1]).update(drift_bp=drift)
    return drift


# --- 11. Land


def land(note: UUID) -> None:
    """Lands an approved note with all its recipients, or with none and an incident."""
    result = land_note(note=note, policy=_policy())
    if isinstance(result, Landed):
        row = Note.objects.get(pk=note)
        close_cured(organization=row.organization_id, kind=IncidentKind.LANDING_FAILED, subject=f"note {note}")
    if isinstance(result, LandingHeld) and result.reason != "decided_meanwhile":
        row = Note.objects.get(pk=note)
        open_incident(
            organization=row.organization_id,
            team=row.team_id,
            kind=IncidentKind.LANDING_FAILED,
            subject=f"note {note}",
            detail=result.reason,
        )
    wake_removals()


def remove(landing: UUID) -> None:
    """Takes one block out of its file; when that cannot be done a person must look."""
    stuck = remove_landing(landing=landing, policy=_policy())
    if stuck is not None:
        row = Landing.objects.select_related("note").get(pk=landing)
        open_incident(
            organization=row.organization_id,
            team=row.note.team_id,
            kind=IncidentKind.DRIFT,
            subject=f"agent {stuck.agent} {stuck.file}",
            detail=f"a revoked note could not be removed: {stuck.reason}",
        )


def wake_removals() -> None:
    """Wakes whatever must be taken out of a workspace."""
    for landing in landings_to_remove():
        wake("remove", landing)


def _segment_of(task: Task) -> Segment | None:
    return Segment.objects.filter(pk=task.segment_id).first() if task.segment_id else None


def _policy() -> Policy:
    policy: Policy = settings.TIKITAKA_POLICY
    return policy


def close_thread(*, actor: Principal, team: Team) -> Segment:
    """Ends the team's open thread of work now, because somebody wants its notes."""
    authorize(actor, Permission.TASK_RUN, team, organization=team.organization_id, object_id=team.pk)
    segment = open_segment(team.pk)
    if segment is None:
        raise WrongState("the team has no open thread of work")
    close_segment(segment=segment)
    wake_flushes()
    return segment
