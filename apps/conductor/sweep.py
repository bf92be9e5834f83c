"""The sweep: finds by query whatever a lost wake-up or a dead worker left, and sets it going again."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from django.conf import settings

from apps.accounts.services.tokens import forget_attempt_tokens
from apps.conductor.budgets import report_exhausted
from apps.conductor.incidents import close_cured, open_incident
from apps.conductor.models import Incident, IncidentKind, LogCheck
from apps.conductor.preparation import report_drift
from apps.conductor.remote import ON_ITS_MACHINE
from apps.conductor.retention import prune
from apps.conductor.story import wake_flushes
from apps.conductor.wake import wake
from apps.conductor.webhooks.selectors import due_endpoints
from apps.ledger import clock
from apps.ledger.selectors import logs, verify_log
from apps.ledger.services import recording
from apps.memory.selectors import (
    exhausted_flushes,
    expired_notes,
    landable_notes,
    removable_landings,
    teams_with_unassigned_tasks,
)
from apps.memory.services.flushes import make_late_flushes
from apps.memory.services.landing.reconcile import reconcile_agent, restore_agent, unknown_skills
from apps.memory.services.recipients import deny_newcomers
from apps.memory.services.segments import close_idle
from apps.memory.services.withdraw import expire_note
from apps.providers.services.requests import clear_requests, waiting_requests
from apps.tasks.budgets import spent_budget_of
from apps.tasks.models import Task, TaskStatus
from apps.tasks.services.plan import requeue_dead_planning
from apps.tasks.services.stop import end_expired
from apps.teams.hosts import are_named, teams_here
from apps.teams.models import Agent, Team
from apps.teams.selectors import unrendered_agents
from tikitaka.ledger.chain import Broken

_STUCK = timedelta(minutes=15)
_PRUNE_BATCHES = 200  # of one call, so that the first one of a large installation does not hold up the sweeps


def sweep() -> Counter[str]:
    """Wakes everything that is due and returns how much of what it found. Calling it at any time is harmless."""
    policy = settings.TIKITAKA_POLICY
    found: Counter[str] = Counter()
    found["dead_planners"] = requeue_dead_planning()
    for expired in end_expired(policy=policy):
        found["expired_leases"] += 1
        for task in expired.settled_tasks:
            wake("settle", task)
        wake("dispatch", expired.team)
    for team in teams_with_unassigned_tasks():
        found["unassigned_teams"] += 1
        wake("assign", team)
    for task in Task.objects.filter(status=TaskStatus.QUEUED, segment_id__isnull=False).values_list("pk", flat=True):
        found["unplanned_tasks"] += 1
        wake("plan", task)
    forget_attempt_tokens()
    clear_requests()
    for request in waiting_requests():
        found["unencoded_texts"] += 1
        wake("embed", request)
    found["idle_segments"] = len(close_idle(policy=policy))
    found["due_flushes"] = wake_flushes()
    found["expired_notes"] = sum(expire_note(note=note) for note in expired_notes(clock.now()))
    _sweep_files(found)
    found["spent_budgets"] = report_exhausted()
    for endpoint in due_endpoints(clock.now()):
        found["due_webhooks"] += 1
        wake("webhooks", endpoint)
    _report_stuck()
    return found


def _sweep_files(found: Counter[str]) -> None:
    """Wakes what touches files of the root that this process sees; what lies elsewhere is its host's sweep's."""
    mine = teams_here()
    running = Task.objects.filter(status=TaskStatus.RUNNING)
    for team in running.filter(team__in=mine).values_list("team_id", flat=True).distinct():
        wake("dispatch", team)
    due = (
        ("unrendered_agents", "render", unrendered_agents(), "team"),
        ("unlanded_notes", "land", landable_notes(clock.now()).order_by("created_at"), "team"),
        ("unremoved_landings", "remove", removable_landings().order_by("remove_requested_at"), "note__team"),
    )
    for name, job, rows, team_path in due:
        for row in rows.filter(**{f"{team_path}__in": mine}).values_list("pk", flat=True):
            found[name] += 1
            wake(job, row)
        if are_named():
            found["left_to_other_hosts"] += rows.exclude(**{f"{team_path}__in": mine}).count()


def reconcile(*, restore: bool = False) -> int:
    """Compares every workspace here with the record, every log with its own bytes; how many incidents are open then.

    With `restore`, files that are wholly ours are first written anew from the record.
    """
    policy = settings.TIKITAKA_POLICY
    for organization, team in Team.objects.filter(archived_at=None).values_list("organization_id", "pk"):
        with recording(organization) as ledger:
            deny_newcomers(team=team, ledger=ledger)
        for late in make_late_flushes(team=team):
            wake("flush", late)
    for agent in Agent.objects.filter(governed_files__isnull=False, team__in=teams_here()).distinct():
        if restore:
            restore_agent(agent=agent.pk, policy=policy)
        drifted = reconcile_agent(agent=agent.pk, policy=policy)
        report_drift(agent.organization_id, agent.team_id, drifted)
        _close_mended(agent, {item.file for item in drifted})
        _report_unknown(agent)
    for log in logs():
        verification = verify_log(log)
        result = verification.result
        LogCheck.objects.update_or_create(
            log=log.pk,
            defaults={
                "organization_id": log.organization_id,
                "checked_at": clock.now(),
                "size": verification.entries,
                "valid": verification.valid,
            },
        )
        if isinstance(result, Broken):
            open_incident(
                organization=log.organization_id,
                team=None,
                kind=IncidentKind.BROKEN_CHAIN,
                subject=f"log {log.origin}",
                detail=f"entry {result.seq}, rule {result.rule}: {result.detail}",
            )
    prune(policy=policy, batches=_PRUNE_BATCHES)
    return Incident.objects.filter(closed_at=None).count()


def _report_unknown(agent: Agent) -> None:
    """A skill that nobody landed is reported until a person closes it; that text of it is then known."""
    for skill in unknown_skills(agent=agent.pk):
        subject = f"agent {agent.pk} {skill.key} {skill.digest[:16]}"
        seen = Incident.objects.filter(kind=IncidentKind.UNKNOWN_SKILL, subject=subject, closed_by__isnull=False)
        if not seen.exists():
            open_incident(
                organization=agent.organization_id,
                team=agent.team_id,
                kind=IncidentKind.UNKNOWN_SKILL,
                subject=subject,
                detail=f"the skill {skill.key} lies in the workspace of {agent.name}, and nobody landed it",
            )


def _close_mended(agent: Agent, broken: set[str]) -> None:
    prefix = f"agent {agent.pk} "
    here = Incident.objects.filter(kind=IncidentKind.DRIFT, closed_at=None, subject__startswith=prefix)
    for incident in here.exclude(subject__endswith=ON_ITS_MACHINE):  # those are mended by what the machine reports
        if incident.subject.removeprefix(prefix) not in broken:
            close_cured(organization=agent.organization_id, kind=IncidentKind.DRIFT, subject=incident.subject)


def _report_stuck() -> None:
    """What no sweep can mend any more, or has not mended for a while, goes to a person."""
    policy = settings.TIKITAKA_POLICY
    for flush in exhausted_flushes(policy.flush_attempts_max):
        open_incident(
            organization=flush.organization_id,
            team=flush.segment.team_id,
            kind=IncidentKind.STUCK_WORK,
            subject=f"flush {flush.pk}",
            detail=f"no usable answer in {len(flush.attempts)} attempts: {flush.reason}",
        )
    waiting = Task.objects.filter(
        status__in=[TaskStatus.QUEUED, TaskStatus.PLANNING], submitted_at__lt=clock.now() - _STUCK
    ).select_related("team")
    for task in waiting:
        if task.team.paused_at is None and not spent_budget_of(task):
            open_incident(
                organization=task.organization_id,
                team=task.team_id,
                kind=IncidentKind.STUCK_WORK,
                subject=f"task {task.pk}",
                detail=f"still {task.status} after {_STUCK}",
            )
