"""Checks of the rows: what waits longer than it should, and for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.conf import settings
from django.db.models import Count, Min, Q

from apps.audit.doctor.diagnosis import Diagnosis, lasting, some
from apps.audit.metrics.figures import Figures
from apps.conductor.models import Incident
from apps.ledger import clock
from apps.memory.models import Note, ReviewItem
from apps.memory.selectors import exhausted_flushes
from apps.tasks.models import Budget, Task
from apps.tasks.selectors import TERMINAL
from tikitaka.review.states import NoteStatus
from tikitaka.safety import show_hidden
from tikitaka.scheduling.budget import Overspent
from tikitaka.scheduling.ready import Hold

_VERIFIED_S = 3_600
_SWEEP = "start the sweeper (manage.py serve without a broker), or run manage.py sweep once"
# How long something may wait at a stage while everybody does their work, what it is, and who does not do theirs.
_STAGES = {
    "expired_leases": (60, "attempt whose worker died", "attempts whose workers died", f"Nobody sweeps: {_SWEEP}."),
    "ready_nodes": (120, "node that could start", "nodes that could start", "Look at the workers of nodes"),
    "unplanned_tasks": (900, "task without a plan", "tasks without a plan", "Look at the workers of control and embed"),
    "due_flushes": (600, "flush that is due", "flushes that are due", "Look at the workers of flush"),
    "unencoded_requests": (60, "text without a vector", "texts without vectors", "Look at the workers of embed"),
    "notes_to_land": (120, "approved note", "approved notes", "Look at the workers of control"),
    "landings_to_remove": (
        120,
        "landing to remove",
        "landings to remove",
        "Look at the agents' folders, then at control",
    ),
    "webhook_deliveries": (
        900,
        "message for another system",
        "messages for other systems",
        "Look at the incidents webhook_failing, then at the workers of control",
    ),
}
_HOLDS = {
    Hold.DEPENDENCY: "for another node of the task",
    Hold.AGENT_BUSY: "for the agent, which does another node",
    Hold.LOCKED: "for a folder in which another attempt writes",
    Hold.WIDTH: "because the team runs as many attempts as it may",
    Hold.PAUSED: "because the team is paused",
    Hold.BUDGET: "because a budget is spent",
}
_WHAT_TO_DO = {
    Hold.PAUSED: "See who is paused.",
    Hold.BUDGET: "See which budget is spent.",
}


_NO_PRICE = "Give the model or the runtime a price in TIKITAKA_PRICES, or take the limit on costs away."
_RAISE = "An owner raises it in the console, or it begins anew with the next month where it is monthly."


def waiting(found: Figures) -> Iterator[Diagnosis]:
    """Stages where nobody does what is due."""
    for stage, (limit_s, one, many, who) in _STAGES.items():
        depth, oldest_s = found.stages[stage]
        if oldest_s > limit_s:
            yield Diagnosis(
                what=f"{some(depth, one, many)} waiting.",
                why=f"The oldest waits for {lasting(oldest_s)}; {lasting(limit_s)} would be usual.",
                do=who if who.endswith(".") else f"{who}; when they run, {_SWEEP}.",
            )


def held(found: Figures) -> Iterator[Diagnosis]:
    """Why queued nodes do not start. Pausing is a person's doing and has its own diagnosis."""
    for hold, why in _HOLDS.items():
        count = found.held.get(hold.value, 0)
        if count:
            yield Diagnosis(
                what=f"{some(count, 'queued node')} not started yet ({hold.value}).",
                why=f"Held {why}.",
                do=_WHAT_TO_DO.get(hold, "Nothing; what holds it goes on by itself."),
                needs_person=False,
            )


def paused() -> Iterator[Diagnosis]:
    """Work of teams whose stop switch, or whose organization's, is on."""
    stopped = Q(team__paused_at__isnull=False) | Q(organization__paused_at__isnull=False)
    work = (
        ("task", Task.objects.filter(stopped).exclude(status__in=TERMINAL)),
        ("approved note", Note.objects.filter(stopped, status=NoteStatus.APPROVED)),
    )
    for noun, rows in work:
        by_team = rows.values("team", "team__name", "organization__name", "organization__paused_at")
        for row in by_team.annotate(n=Count("pk")).order_by("organization__name", "team__name"):
            team, organization = show_hidden(row["team__name"]), show_hidden(row["organization__name"])
            whole = row["organization__paused_at"] is not None
            yield Diagnosis(
                what=f"{some(row['n'], noun)} of {team} ({organization}) not going on.",
                why=f"Somebody paused the {'organization' if whole else 'team'}.",
                do=f"When the reason is gone, press Go on on the {'organization' if whole else 'team'}'s page.",
            )


def budgets() -> Iterator[Diagnosis]:
    """Budgets that let nothing more begin."""
    rows = Budget.objects.exclude(exhausted="").filter(task__settled_at=None)
    for budget in rows.select_related("organization", "team").order_by("organization__name", "team__name", "pk"):
        team = f"{show_hidden(budget.team.name)} of " if budget.team else ""
        of = f"task {budget.task_id} of " if budget.task_id else ""
        yield Diagnosis(
            what=f"Nothing more begins for {of}{team}{show_hidden(budget.organization.name)}.",
            why=f"The budget of the {budget.scope} is spent ({budget.exhausted}).",
            do=_NO_PRICE if budget.exhausted == Overspent.NO_PRICE else _RAISE,
        )


def flushes() -> Iterator[Diagnosis]:
    """Distillations that no sweep tries again."""
    reasons = Counter(flush.reason for flush in exhausted_flushes(settings.TIKITAKA_POLICY.flush_attempts_max))
    for reason, count in sorted(reasons.items()):
        yield Diagnosis(
            what=f"{some(count, 'flush', 'flushes')} without notes.",
            why=f"Every attempt failed; the last one with {reason or 'no reason'}.",
            do="Mend the model or its settings, then press Try again on the flush's page.",
        )


def reviews() -> Iterator[Diagnosis]:
    """Notes for which a person should have decided already."""
    now = clock.now()
    late = ReviewItem.objects.filter(closed_at__isnull=True, due_at__lt=now).aggregate(n=Count("pk"), due=Min("due_at"))
    if late["n"]:
        yield Diagnosis(
            what=f"{some(late['n'], 'note')} waiting for a reviewer longer than due.",
            why=f"The oldest was due {lasting((now - late['due']).total_seconds())} ago.",
            do="A reviewer decides them on the notes' pages.",
        )


def faults() -> Iterator[Diagnosis]:
    """Approved notes that were tried and could not be written."""
    rows = Note.objects.filter(status=NoteStatus.APPROVED).exclude(landing_fault="")
    for fault, count in rows.values_list("landing_fault").annotate(n=Count("pk")).order_by("landing_fault"):
        yield Diagnosis(
            what=f"{some(count, 'approved note')} not landed; no recipient has it.",
            why=f"The fault is {fault}.",
            do="Mend it (docs/operators.md, Incidents); it is tried again every minute.",
        )


def incidents() -> Iterator[Diagnosis]:
    rows = Incident.objects.filter(closed_at__isnull=True)
    for kind, count in rows.values_list("kind").annotate(n=Count("pk")).order_by("kind"):
        yield Diagnosis(
            what=f"{some(count, 'incident')} open: {kind}.",
            why="Something happened that a person must look at.",
            do="Read it in the console; docs/operators.md, Incidents, says what to do for each kind.",
        )


def logs(found: Figures) -> Iterator[Diagnosis]:
    """The ledger, as it was when somebody last looked."""
    broken = [chain for chain in found.chains if chain.valid is False]
    if broken:
        yield Diagnosis(
            what=f"{some(len(broken), 'log')} of the ledger broken.",
            why="The last verification found another content than was written.",
            do="Stop the installation, keep a copy of everything, call an auditor; manage.py ledger_verify says where.",
        )
    old = [chain.age_s for chain in found.chains if chain.age_s > _VERIFIED_S]
    if old:
        yield Diagnosis(
            what=f"{some(len(old), 'log')} of the ledger not verified lately.",
            why=f"The oldest verification, or the opening of a log without one, is {lasting(max(old))} ago.",
            do="Run manage.py reconcile; the sweeper and serve do it every ten minutes.",
        )
