"""All admin classes. Each only adapts: it looks through selectors and decides through services."""

from apps.console.admin import budgets, incidents, ledger, notes, people, tasks, teams  # noqa: F401 registers the classes
