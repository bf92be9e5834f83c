"""What the pages may offer to the logged-in person of a request."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from apps.accounts.models import Organization, User
from apps.accounts.selectors import containers_with
from apps.accounts.sessions import principal
from apps.teams.models import Team
from tikitaka.authz import Permission


def holds_anywhere(request: HttpRequest, permission: Permission, model: type[Model] = Team) -> bool:
    """True when there is any team (or organization) on which the person holds `permission`.

    Asked once in a request: the menu of the admin wants to know it for every entry, several times.
    """
    answers: dict[Any, bool] = request.__dict__.setdefault("_held_anywhere", {})
    key = (permission, model)
    if key not in answers:
        answers[key] = containers_with(principal(request), permission, model).exists()
    return answers[key]


def abilities(request: HttpRequest) -> dict[str, bool]:
    """What the pages of our own offer to the person; every service checks again."""
    if not isinstance(request.user, User):
        return {}
    return {
        "read_notes": holds_anywhere(request, Permission.NOTE_VIEW),
        "write_notes": holds_anywhere(request, Permission.NOTE_WRITE),
        "run_tasks": holds_anywhere(request, Permission.TASK_RUN),
        "read_ledger": holds_anywhere(request, Permission.LEDGER_READ, Organization),
        "use_admin": request.user.is_staff,
    }
