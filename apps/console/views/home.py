"""The first page: what runs, what waits for a person, what is wrong."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.accounts.selectors import containers_with
from apps.conductor.models import Incident
from apps.console.identity import principal
from apps.memory.models import ReviewItem
from apps.tasks.models import Task
from apps.teams.models import Team
from tikitaka.authz import Permission

_TASKS = 30


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Teams, newest tasks, counts of open reviews and incidents, of the organizations that the person belongs to."""
    who = principal(request)
    teams = containers_with(who, Permission.ORGANIZATION_VIEW, Team).filter(archived_at=None)
    reviewable = containers_with(who, Permission.NOTE_VIEW, Team)
    return render(
        request,
        "console/home.html",
        {
            "teams": teams.select_related("organization").order_by("name"),
            "tasks": Task.objects.filter(team__in=teams).select_related("team").order_by("-submitted_at")[:_TASKS],
            "reviews": ReviewItem.objects.filter(note__team__in=reviewable, closed_at=None).count(),
            "incidents": Incident.objects.filter(organization__in=teams.values("organization"), closed_at=None).count(),
        },
    )
