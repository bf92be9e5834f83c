"""All admin classes. Each only adapts: it looks through selectors and decides through services."""

from apps.console.admin import (  # noqa: F401 registers the classes
    budgets,
    incidents,
    ledger,
    notes,
    people,
    tasks,
    teams,
    tokens,
    webhooks,
)
