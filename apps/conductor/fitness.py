"""Is the installation fit to work: what stands in the way, by name. Says nothing about what is inside."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection

from apps.ledger import triggers
from apps.teams.models import Workspace


def database_fault() -> str | None:
    """`database` when it does not answer, `ledger_triggers` when what protects the ledger is gone."""
    try:
        missing = set(triggers.expected(connection)) - triggers.installed(connection)
    except DatabaseError:
        return "database"
    return "ledger_triggers" if missing else None


def workspaces_fault() -> str | None:
    """The folder is made with the first agent; from then on one that is not there is a disk that is not mounted."""
    folder = Path(settings.TIKITAKA_WORKSPACES)
    try:
        if not folder.exists() and Workspace.objects.exists():
            return "missing"
    except DatabaseError:
        return None  # it has its own fault
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return None if os.access(folder, os.W_OK | os.X_OK) else "not_writable"
