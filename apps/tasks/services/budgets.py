"""Setting budgets, charging them, and refusing in their name. What pays for one thing is locked widest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import F

from apps.accounts.models import Organization
from apps.accounts.services.authorize import authorize
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.queries import Query
from apps.ledger.services import Recorder, recording
from apps.tasks.budgets import account, is_over, paying
from apps.tasks.models import Budget, Task
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import Invalid
from tikitaka.ledger.events import BudgetExhausted, BudgetSet
from tikitaka.ports import ModelReply
from tikitaka.scheduling.budget import NO_LIMITS, Limits, Overspent, Refused, Spent, month_of
from tikitaka.scheduling.prices import TokenCount, token_count

_MAX = 10**15


def set_budget(
    *, actor: Principal, scope: Organization | Team | Task, limits: Limits, monthly: bool = False
) -> Budget | None:
    """Limits what an organization, a team or a task may spend from now on; without any limit the budget is gone.

    What was spent of a budget that is changed stays spent. A task's budget knows no months.
    """
    organization, team, task = _scope(scope)
    container = scope.team if isinstance(scope, Task) else scope
    authorize(actor, Permission.BUDGET_SET, container, organization=organization, object_id=scope.pk)
    if monthly and task is not None:
        raise Invalid(monthly="a task's budget is for the whole task")
    require_limits(limits)
    with recording(organization, actor=actor.actor) as ledger:
        Organization.objects.select_for_update(no_key=True).get(pk=organization)  # two owners, one budget
        found = Budget.objects.select_for_update().filter(organization=organization, team=team, task=task).first()
        if found is None and limits == NO_LIMITS:
            return None
        return _save(found, organization, team, task, limits, monthly, ledger)


def open_task_budget(*, task: Task, limits: Limits, ledger: Recorder) -> None:
    """The budget that a task is submitted with, in the transaction that saves the task."""
    if limits != NO_LIMITS:
        require_limits(limits)
        _save(None, task.organization_id, task.team_id, task.pk, limits, False, ledger)


def require_limits(limits: Limits) -> None:
    """Raises Invalid for a limit that no column holds."""
    given = {"attempts_max": limits.attempts, "tokens_max": limits.tokens, "cost_max": limits.cost_micros}
    wrong = {name: f"must be from 0 to {_MAX}" for name, value in given.items() if value and not 0 <= value <= _MAX}
    if wrong:
        raise Invalid(**wrong)


def budget_of(scope: Organization | Team | Task) -> Budget | None:
    """The budget of exactly this organization, team or task."""
    organization, team, task = _scope(scope)
    return Budget.objects.filter(organization=organization, team=team, task=task).first()


def _scope(scope: Organization | Team | Task) -> tuple[UUID, UUID | None, UUID | None]:
    if isinstance(scope, Organization):
        return scope.pk, None, None
    if isinstance(scope, Team):
        return scope.organization_id, scope.pk, None
    return scope.organization_id, scope.team_id, scope.pk


def _save(
    found: Budget | None,
    organization: UUID,
    team: UUID | None,
    task: UUID | None,
    limits: Limits,
    monthly: bool,
    ledger: Recorder,
) -> Budget | None:
    now = clock.now()
    budget = found or Budget(id=new_id(), organization_id=organization, team_id=team, task_id=task, since=now)
    if monthly and not budget.monthly:
        budget.since = month_of(now)  # what was spent so far counts in this month
    budget.attempts_max, budget.tokens_max = limits.attempts, limits.tokens
    budget.cost_micros_max, budget.monthly = limits.cost_micros, monthly
    budget.exhausted = ""
    key = budget.pk
    if limits == NO_LIMITS:
        budget.delete()
    else:
        budget.save(force_insert=found is None)
    ledger.record(
        BudgetSet(
            budget=key,
            team=team,
            task=task,
            attempts_max=limits.attempts,
            tokens_max=limits.tokens,
            cost_micros_max=limits.cost_micros,
            monthly=monthly,
        )
    )
    return None if limits == NO_LIMITS else budget


# --- spending


def any_budget(organization: UUID) -> Query[bool]:
    """True when anything in the organization is limited."""
    return Query("SELECT 1 FROM tasks_budget WHERE organization_id = %s LIMIT 1", [organization], bool)


def lock_budgets(*, organization: UUID, team: UUID, tasks: Collection[UUID], now: datetime) -> list[Budget]:
    """What pays for some tasks of a team, locked until the transaction ends; a month that is over begins anew."""
    budgets = list(paying(organization=organization, team=team, tasks=tasks).select_for_update(of=("self",)))
    for budget in budgets:
        if is_over(budget, now):
            budget.attempts = budget.tokens = budget.cost_micros = 0
            budget.since, budget.exhausted = month_of(now), ""
            budget.save()
    return budgets


def charge(budgets: Sequence[Budget], spent: Mapping[UUID | None, Spent]) -> None:
    """Adds what was spent, by task (None for what no single task pays), to locked budgets."""
    total = sum(spent.values(), Spent())
    for budget in budgets:
        part = total if budget.task_id is None else spent.get(budget.task_id, Spent())
        if part != Spent():
            budget.exhausted = "" if part.attempts else budget.exhausted  # something may begin again
            Budget.objects.filter(pk=budget.pk).update(
                attempts=F("attempts") + part.attempts,
                tokens=F("tokens") + part.tokens,
                cost_micros=F("cost_micros") + part.cost_micros,
                exhausted=budget.exhausted,
            )


def charge_attempts(budgets: Sequence[Budget], begun: Counter[UUID]) -> None:
    """Counts attempts, by task, before any of them is dispatched."""
    charge(budgets, {task: Spent(attempts=count) for task, count in begun.items()})


def charge_call(
    *, organization: UUID, team: UUID, task: UUID | None, sent: str, reply: ModelReply, priced_as: str
) -> None:
    """Charges a call to a model in the transaction that records it. Without a task it is the team's.

    A call that brought no count, such as one that took too long, is a token for every four characters that were sent.
    """
    if reply.failure != "off" and any_budget(organization).ask():
        tokens = token_count({"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens})
        tokens = tokens if tokens.total else TokenCount(input=len(sent) // 4)
        tasks = [task] if task else []
        budgets = lock_budgets(organization=organization, team=team, tasks=tasks, now=clock.now())
        charge(budgets, {task: Spent(tokens=tokens.total, cost_micros=_cost_micros(priced_as, tokens))})


def attempt_spent(runtime: str, usage: Mapping[str, int]) -> Spent:
    """What an attempt cost by its runtime's own count; that it began has been counted already."""
    tokens = token_count(usage)
    return Spent(tokens=tokens.total, cost_micros=_cost_micros(runtime, tokens))


def _cost_micros(name: str, tokens: TokenCount) -> int:
    """By the price list; nothing where there is no price, and then no budget that limits costs lets it begin."""
    price = settings.TIKITAKA_PRICES.get(name)
    return price.cost_micros(tokens) if price is not None else 0


# --- refusing


def refuse_call(*, organization: UUID, team: UUID, task: UUID | None, priced_as: str) -> Overspent | None:
    """Why a model may not be asked now; the first refusal of a budget is an entry."""
    if not any_budget(organization).ask():
        return None
    now = clock.now()
    priced = priced_as in settings.TIKITAKA_PRICES
    with recording(organization) as ledger:
        budgets = lock_budgets(organization=organization, team=team, tasks=[task] if task else [], now=now)
        for budget in budgets:
            reason = account(budget, now).call_refusal(priced=priced)
            if reason is not None:
                note_refusals(budgets, [Refused(account=budget.pk, reason=reason)], ledger=ledger)
                return reason
    return None


def note_refusals(budgets: Sequence[Budget], refused: Sequence[Refused], *, ledger: Recorder) -> None:
    """Keeps with locked budgets that they let nothing more begin. What was refused again changes nothing."""
    reasons = {item.account: item.reason for item in refused}
    for budget in budgets:
        reason = reasons.get(budget.pk)
        if reason is None or budget.exhausted == reason.value:
            continue
        budget.exhausted = reason.value
        Budget.objects.filter(pk=budget.pk).update(exhausted=reason.value)
        budget.refresh_from_db(fields=["attempts", "tokens", "cost_micros"])
        ledger.record(
            BudgetExhausted(
                budget=budget.pk,
                team=budget.team_id,
                task=budget.task_id,
                reason=reason.value,
                attempts=budget.attempts,
                tokens=budget.tokens,
                cost_micros=budget.cost_micros,
            )
        )
