"""Rows by what a person types on a command line: an id, or a name where that is unique."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import Model, QuerySet

from apps.accounts.models import Organization, User
from apps.teams.models import Agent, Team
from tikitaka.text import name_key

M = TypeVar("M", bound=Model)


def find_team(text: str, organization: Organization | None = None) -> Team:
    """The team, of this organization where one is given; raises CommandError that says what does not fit."""
    teams = Team.objects.select_related("organization").filter(archived_at__isnull=True)
    if organization is not None:
        teams = teams.filter(organization=organization)
    return _only("team", text, teams, name_key=name_key(text))


def find_organization(text: str) -> Organization:
    """The organization; raises CommandError that says what does not fit."""
    return _only("organization", text, Organization.objects.all(), name=text)


def find_agent(text: str) -> Agent:
    """The agent with this id: names are unique within a team only."""
    return _only("agent", text, Agent.objects.select_related("organization"))


def find_user(login: str) -> User:
    """The person who logs in so; raises CommandError where nobody does."""
    user = User.objects.filter(username=login, is_active=True).first()
    if user is None:
        raise CommandError(f"--user: nobody logs in as {login}")
    return user


def _only(what: str, text: str, rows: QuerySet[M], **named: str) -> M:
    try:
        found = list(rows.filter(pk=UUID(text)))
    except ValueError:
        found = list(rows.filter(**named)) if named else []
    if len(found) != 1:
        raise CommandError(f"--{what}: {f'no {what}' if not found else f'more than one {what}'} is called {text}")
    return found[0]
