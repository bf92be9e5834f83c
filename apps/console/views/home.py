"""The first page: what runs, what waits for a person, what is wrong."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.accounts.selectors import containers_with
from apps.accounts.sessions import principal
from apps.conductor.models import Incident
from apps.console.identity import abilities
from apps.memory.models import ReviewItem, Segment, SegmentStatus
from apps.tasks.models import Task
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.safety import show_hidden
from tikitaka.text import cut

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
            "teams": _teams(who, teams),
            "tasks": _tasks(teams),
            "reviews": ReviewItem.objects.filter(note__team__in=reviewable, closed_at=None).count(),
            "incidents": Incident.objects.filter(organization__in=teams.values("organization"), closed_at=None).count(),
            "can": abilities(request),
        },
    )


def _tasks(teams: Any) -> list[dict[str, Any]]:
    rows = Task.objects.filter(team__in=teams).select_related("team").order_by("-submitted_at")[:_TASKS]
    return [
        {
            "pk": row.pk,
            "prompt": show_hidden(cut(row.prompt, 100)) + ("…" if len(row.prompt) > 100 else ""),
            "team": show_hidden(row.team.name),
            "status": row.status,
            "at": row.submitted_at,
        }
        for row in rows
    ]


def _teams(who: Principal, teams: Any) -> list[dict[str, Any]]:
    """With a switch for the open thread of work where the person may close it."""
    thread = Segment.objects.filter(team=OuterRef("pk"), status=SegmentStatus.OPEN)
    runs = containers_with(who, Permission.TASK_RUN, Team).filter(pk=OuterRef("pk"))
    rows = teams.select_related("organization").annotate(thread=Exists(thread), runs=Exists(runs))
    return [
        {
            "pk": row.pk,
            "name": show_hidden(row.name),
            "organization": show_hidden(row.organization.name),
            "paused": bool(row.paused_at or row.organization.paused_at),
            "thread": row.thread,
            "may_close": row.thread and row.runs,
        }
        for row in rows.order_by("name")
    ]
