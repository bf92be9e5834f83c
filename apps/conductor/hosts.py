"""Jobs that touch the files of a team go to the host that holds them; every other job is anybody's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.memory.models import Landing, Note
from apps.teams.hosts import are_named
from apps.teams.models import Agent, Team

_HOSTS: Mapping[str, Callable[[UUID], QuerySet[Any]]] = MappingProxyType(
    {
        "dispatch": lambda team: Team.objects.filter(pk=team).values_list("host", flat=True),
        "land": lambda note: Note.objects.filter(pk=note).values_list("team__host", flat=True),
        "remove": lambda landing: Landing.objects.filter(pk=landing).values_list("note__team__host", flat=True),
        "render": lambda agent: Agent.objects.filter(pk=agent).values_list("team__host", flat=True),
    }
)
FILE_JOBS = frozenset(_HOSTS)


def host_of(job: str, subject: UUID) -> str:
    """Whose queue a message belongs in; no name for the common ones. Asks nothing where one root is shared."""
    if job not in _HOSTS or not are_named():
        return ""
    return str(_HOSTS[job](subject).first() or "")
