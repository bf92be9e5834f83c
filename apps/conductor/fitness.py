"""Is the installation fit to work: what stands in the way, by name. Says nothing about what is inside."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection

from apps.conductor.hearing import silent_hosts
from apps.ledger import triggers
from apps.teams.hosts import are_named, hosts_with_teams, teams_here
from apps.teams.models import Workspace


def database_fault() -> str | None:
    """`database` when it does not answer, `ledger_triggers` when what protects the ledger is gone."""
    try:
        missing = set(triggers.expected(connection)) - triggers.installed(connection)
    except DatabaseError:
        return "database"
    return "ledger_triggers" if missing else None


def workspaces_fault() -> str | None:
    """The folder is made with the first agent; from then on one that is not there is a disk that is not mounted.

    Where roots have names, a process without one sees none and needs none.
    """
    folder = Path(settings.TIKITAKA_WORKSPACES)
    try:
        used = Workspace.objects.filter(agent__team__in=teams_here()).exists()
    except DatabaseError:
        return None  # it has its own fault
    if used and not folder.exists():
        return "missing"
    if not used and are_named() and not settings.TIKITAKA_HOST:
        return None
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return None if os.access(folder, os.W_OK | os.X_OK) else "not_writable"


def hosts_fault() -> str | None:
    """`unknown` when this host is in no list and no team lies on it, `silent` when nobody works on one with teams."""
    try:
        host = settings.TIKITAKA_HOST
        if host and host not in settings.TIKITAKA_HOSTS and host not in hosts_with_teams():
            return "unknown"
        return "silent" if silent_hosts() else None
    except DatabaseError:
        return None  # it has its own fault
