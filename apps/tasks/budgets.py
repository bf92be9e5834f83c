"""Budgets as the rules see them: which pay for what, and what is left of them at a moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q, QuerySet

from apps.tasks.models import Budget, Task
from apps.teams.models import Agent
from tikitaka.scheduling.budget import Account, Limits, Purse, Spent, month_of


def paying(*, organization: UUID, team: UUID, tasks: Collection[UUID]) -> QuerySet[Budget]:
    """The budgets of some tasks, their team and its organization, widest first: the order in which all lock them."""
    whole = Q(team=None) | Q(team=team, task=None)
    found = Budget.objects.filter(whole | Q(task__in=tasks), organization=organization)
    return found.order_by(F("team").asc(nulls_first=True), F("task").asc(nulls_first=True))


def account(budget: Budget, now: datetime) -> Account:
    """The budget as it stands; one of a month that is over has spent nothing yet."""
    limits = Limits(attempts=budget.attempts_max, tokens=budget.tokens_max, cost_micros=budget.cost_micros_max)
    spent = (
        Spent()
        if is_over(budget, now)
        else Spent(attempts=budget.attempts, tokens=budget.tokens, cost_micros=budget.cost_micros)
    )
    return Account(key=budget.pk, limits=limits, spent=spent)


def is_over(budget: Budget, now: datetime) -> bool:
    """True when the month of a monthly budget has ended."""
    return budget.monthly and budget.since < month_of(now)


def purse(budgets: Iterable[Budget], now: datetime) -> Purse:
    """The purse of one team from its budgets."""
    budgets = list(budgets)
    return _purse(budgets, _unpriced(budgets), now)


def purses(teams: Mapping[UUID, UUID], now: datetime) -> Mapping[UUID, Purse]:
    """The purses of several teams, each with its organization, for somebody who only looks. Two queries at most."""
    budgets = list(Budget.objects.filter(organization__in=set(teams.values()), task__settled_at=None))
    shared: dict[UUID, list[Budget]] = defaultdict(list)
    own: dict[UUID, list[Budget]] = defaultdict(list)
    for budget in budgets:
        (own[budget.team_id] if budget.team_id else shared[budget.organization_id]).append(budget)
    unpriced = _unpriced(budgets)
    return {team: _purse([*shared[whole], *own[team]], unpriced, now) for team, whole in teams.items()}


def _purse(budgets: Sequence[Budget], unpriced: Collection[UUID], now: datetime) -> Purse:
    return Purse(
        shared=tuple(account(budget, now) for budget in budgets if budget.task_id is None),
        by_task={budget.task_id: account(budget, now) for budget in budgets if budget.task_id is not None},
        unpriced=unpriced,
    )


def spent_budget_of(task: Task) -> Budget | None:
    """The widest budget because of which nothing more of the task begins; None when there is none."""
    budgets = paying(organization=task.organization_id, team=task.team_id, tasks=[task.pk])
    return budgets.exclude(exhausted="").first()


def _unpriced(budgets: Iterable[Budget]) -> frozenset[UUID]:
    """The agents that run on something whose tokens have no price, where a budget limits what they cost."""
    organizations = {budget.organization_id for budget in budgets if budget.cost_micros_max is not None}
    if not organizations:
        return frozenset()
    agents = Agent.objects.filter(organization__in=organizations, retired_at=None)
    return frozenset(agents.exclude(runtime__in=settings.TIKITAKA_PRICES).values_list("pk", flat=True))
