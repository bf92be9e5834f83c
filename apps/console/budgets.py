"""Budgets as people type and read them: costs in units of the currency, limits and what is spent in one line."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms

from apps.tasks.models import Budget
from tikitaka.scheduling.budget import Limits

_MICROS = 1_000_000


def limit_fields(**widgets: Any) -> dict[str, forms.Field]:
    """The three limits as fields of a form; `widgets` are the keyword arguments of each."""
    counted = {"required": False, "min_value": 0, **widgets}
    return {
        "attempts_max": forms.IntegerField(label="Attempts at most", help_text="Empty: no limit.", **counted),
        "tokens_max": forms.IntegerField(
            label="Tokens at most", help_text="Input and output together. What runs already may go over.", **counted
        ),
        "cost_max": forms.DecimalField(
            label="Cost at most",
            help_text="In the currency of TIKITAKA_PRICES. Nothing without a price begins under such a limit.",
            max_digits=15,
            decimal_places=6,
            **counted,
        ),
    }


def limits_of(typed: Mapping[str, Any]) -> Limits:
    """The limits that a form or a command was given."""
    cost = typed.get("cost_max")
    return Limits(
        attempts=typed.get("attempts_max"),
        tokens=typed.get("tokens_max"),
        cost_micros=None if cost is None else int(cost * _MICROS),
    )


def typed(budget: Budget) -> dict[str, Any]:
    """A budget as the fields of a form show it."""
    micros = budget.cost_micros_max
    return {
        "attempts_max": budget.attempts_max,
        "tokens_max": budget.tokens_max,
        "cost_max": None if micros is None else currency(micros),
        "monthly": budget.monthly,
    }


def currency(micros: int) -> Decimal:
    """Millionths as units, without needless zeros."""
    amount = (Decimal(micros) / _MICROS).normalize()
    return amount.quantize(Decimal(1)) if amount == amount.to_integral_value() else amount


def in_words(budget: Budget) -> str:
    """What is spent of each limit."""
    parts = (
        (budget.attempts, budget.attempts_max, "attempts"),
        (budget.tokens, budget.tokens_max, "tokens"),
        (
            currency(budget.cost_micros),
            None if budget.cost_micros_max is None else currency(budget.cost_micros_max),
            "",
        ),
    )
    told = (f"{spent:,} of {most:,} {name or 'in cost'}" for spent, most, name in parts if most is not None)
    return ", ".join(told) + (" this month" if budget.monthly else "")
