"""Budgets in the story: what waited for one goes on when it is raised, and one that is spent is an incident."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.accounts.models import Organization
from apps.conductor.incidents import close_cured, open_incident
from apps.conductor.models import Incident, IncidentKind
from apps.conductor.story import wake_flushes
from apps.conductor.wake import wake
from apps.tasks.models import Budget, Task, TaskStatus
from apps.tasks.services import budgets as budget_services
from apps.teams.models import Team
from tikitaka.authz import Principal
from tikitaka.scheduling.budget import Limits


def set_budget(
    *, actor: Principal, scope: Organization | Team | Task, limits: Limits, monthly: bool = False
) -> Budget | None:
    """Sets, changes or takes away a budget; what waited for it goes on."""
    budget = budget_services.set_budget(actor=actor, scope=scope, limits=limits, monthly=monthly)
    report_exhausted()
    waiting = _tasks_of(scope).filter(status__in=[TaskStatus.QUEUED, TaskStatus.RUNNING])
    for task in waiting.filter(status=TaskStatus.QUEUED).values_list("pk", flat=True):
        wake("plan", task)
    for team in waiting.values_list("team_id", flat=True).distinct():
        wake("dispatch", team)
    wake_flushes()
    return budget


def report_exhausted() -> int:
    """Opens an incident for every budget that lets nothing more begin and closes those of all others; how many.

    A task that has ended needs no budget any more.
    """
    spent = Budget.objects.exclude(exhausted="").filter(task__settled_at=None)
    for budget in spent:
        open_incident(
            organization=budget.organization_id,
            team=budget.team_id,
            kind=IncidentKind.OUT_OF_BUDGET,
            subject=_subject(budget),
            detail=f"nothing more begins: {budget.exhausted}",
        )
    subjects = {_subject(budget) for budget in spent}
    for incident in Incident.objects.filter(kind=IncidentKind.OUT_OF_BUDGET, closed_at=None):
        if incident.subject not in subjects:
            close_cured(
                organization=incident.organization_id, kind=IncidentKind.OUT_OF_BUDGET, subject=incident.subject
            )
    return len(subjects)


def _subject(budget: Budget) -> str:
    return f"{budget.scope} {budget.task_id or budget.team_id or budget.organization_id}"


def _tasks_of(scope: Organization | Team | Task) -> QuerySet[Task]:
    if isinstance(scope, Task):
        return Task.objects.filter(pk=scope.pk)
    if isinstance(scope, Team):
        return Task.objects.filter(team=scope)
    return Task.objects.filter(organization=scope)
