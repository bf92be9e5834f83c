"""Rows by what a person types on a command line: an id, or a name where that is unique."""

from __future__ import annotations

from uuid import UUID

from django.core.management.base import CommandError

from apps.teams.models import Team
from tikitaka.text import name_key


def find_team(text: str) -> Team:
    """The team; raises CommandError that says what does not fit."""
    teams = Team.objects.select_related("organization").filter(archived_at__isnull=True)
    try:
        found = list(teams.filter(pk=UUID(text)))
    except ValueError:
        found = list(teams.filter(name_key=name_key(text)))
    if len(found) != 1:
        raise CommandError(f"--team: {'no team' if not found else 'more than one team'} is called {text}")
    return found[0]
