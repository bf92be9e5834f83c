"""Several hosts in one process: each with a workspace root of its own, seen one at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from apps.conductor import wake as waking
from apps.ledger.selectors import entries
from apps.teams.models import Team
from tests.support.cast import Cast


class Hosts:
    """`see` makes this process one of host `name`; with no name it sees a root that no team lies in."""

    def __init__(self, settings: Any, folder: Path, names: tuple[str, ...]) -> None:
        self._settings, self._folder, self.names = settings, folder, names
        self.see("")

    def see(self, name: str) -> None:
        self._settings.TIKITAKA_HOSTS = self.names
        self._settings.TIKITAKA_HOST = name
        self._settings.TIKITAKA_WORKSPACES = self.root(name)

    def root(self, name: str) -> Path:
        return self._folder / f"root-{name}"

    def files(self, name: str) -> set[str]:
        """What lies in the root of a host, without git's own."""
        root = self.root(name)
        return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and ".git" not in path.parts}


def bindings(cast: Cast) -> list[str]:
    """The hosts of all bindings in the ledger, in order."""
    bound = entries(cast.organization.pk, types=("team.workspace.bound",))
    return [json.loads(entry.header)["facts"]["host"] for entry in bound]


class Woken:
    """Remembers every wake-up and does nothing about it."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, UUID]] = []
        waking.bind(self)

    def wake(self, job: str, subject: UUID) -> None:
        self.jobs.append((job, subject))

    def of(self, job: str) -> list[UUID]:
        return [subject for name, subject in self.jobs if name == job]


def move(team: Team, host: str) -> None:
    """As if somebody had moved it, without any of the questions."""
    Team.objects.filter(pk=team.pk).update(host=host)
    team.refresh_from_db()
