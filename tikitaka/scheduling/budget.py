"""What work may cost: limits of an organization, a team or a task, and what has been spent of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Overspent(StrEnum):
    """Why nothing more may begin; shown, stored in the ledger and asserted in tests under this name."""

    ATTEMPTS = "attempts_spent"
    TOKENS = "tokens_spent"
    COST = "cost_spent"
    NO_PRICE = "price_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """At most so many attempts, tokens and millionths of the currency; None is no limit."""

    attempts: int | None = None
    tokens: int | None = None
    cost_micros: int | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What has been spent, in the same units."""

    attempts: int = 0
    tokens: int = 0
    cost_micros: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            attempts=self.attempts + other.attempts,
            tokens=self.tokens + other.tokens,
            cost_micros=self.cost_micros + other.cost_micros,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One budget as it stands."""

    key: UUID
    limits: Limits
    spent: Spent

    def refusal(self, *, attempts: int = 0, priced: bool = True) -> Overspent | None:
        """Why a call, or an attempt after `attempts` others that begin with it, may not begin.

        Attempts are counted before they begin and never exceed their limit. What a call will cost is known only when
        it has ended, so the last ones to begin may go over the limit of tokens and cost.
        """
        limits, spent = self.limits, self.spent
        if limits.attempts is not None and spent.attempts + attempts >= limits.attempts:
            return Overspent.ATTEMPTS
        return self.call_refusal(priced=priced)

    def call_refusal(self, *, priced: bool) -> Overspent | None:
        """The same for a call to a model, which is no attempt."""
        limits, spent = self.limits, self.spent
        if limits.tokens is not None and spent.tokens >= limits.tokens:
            return Overspent.TOKENS
        if limits.cost_micros is not None and not priced:
            return Overspent.NO_PRICE
        if limits.cost_micros is not None and spent.cost_micros >= limits.cost_micros:
            return Overspent.COST
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A budget that lets nothing more begin, and why."""

    account: UUID
    reason: Overspent


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """The budgets that pay for a team's work: those that all of its tasks share, and those of single tasks.

    `unpriced` are the agents whose tokens have no price.
    """

    shared: tuple[Account, ...] = ()
    by_task: Mapping[UUID, Account] = field(default_factory=dict)
    unpriced: Collection[UUID] = frozenset()

    def accounts(self, task: UUID) -> Iterator[Account]:
        """Every budget that an attempt of the task is charged to."""
        yield from self.shared
        if task in self.by_task:
            yield self.by_task[task]

    def refusal(self, task: UUID, agent: UUID, begun: Counter[UUID]) -> Refused | None:
        """Why an attempt of the task may not begin; `begun` counts by account those that begin before it."""
        for account in self.accounts(task):
            reason = account.refusal(attempts=begun[account.key], priced=agent not in self.unpriced)
            if reason is not None:
                return Refused(account=account.key, reason=reason)
        return None


UNLIMITED = Purse()


def month_of(moment: datetime) -> datetime:
    """The first moment of the month, in the moment's own zone: when a budget of a month begins anew."""
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
