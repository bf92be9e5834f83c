"""The live page of a task: its graph as a picture and the merged feed by time, kept fresh by an event stream."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from apps.accounts.selectors import containers_with
from apps.accounts.sessions import principal
from apps.audit.progress import LINES, Progress, feed_page, progress, removed
from apps.audit.stream import task_stream
from apps.console.budgets import in_words
from apps.console.identity import abilities
from apps.console.views.picture import draw
from apps.tasks.budgets import paying
from apps.tasks.models import Task, TaskStatus
from apps.tasks.selectors import TERMINAL, access_task
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import TikiTakaError
from tikitaka.safety import show_hidden

_RESUMABLE = (TaskStatus.PARTIAL, TaskStatus.FAILED, TaskStatus.CANCELLED)


@login_required
def task_page(request: HttpRequest, task: UUID) -> HttpResponse:
    """Works without JavaScript too, as it was when it was loaded."""
    row = task_of(request, task)
    feed = feed_page(row.pk, _number(request.GET.get("from")))
    state = progress(row.pk)
    return render(
        request,
        "console/task.html",
        {
            "task": row,
            "prompt": show_hidden(row.prompt),
            "team": show_hidden(row.team.name),
            "plan_reasons": show_hidden(", ".join(map(str, row.plan_reasons))),
            "state": state,
            "picture": draw(state.nodes),
            "feed": feed,
            "removed": removed(row),
            "before": max(0, feed.first - LINES),
            "next": feed.first + LINES,
            "live": state.status not in TERMINAL and not feed.later,
            "deeds": _deeds(request, row, state),
            **_budgets(row, ended=state.status in TERMINAL),
            "can": abilities(request),
        },
    )


async def task_events(request: HttpRequest, task: UUID) -> HttpResponseBase:
    """Server-sent events: `state` when a node changes, `feed` for a line, new or finished; resumes after the last."""
    try:
        who, row = await sync_to_async(_allowed)(request, task)
    except Http404:
        return HttpResponse(status=404)
    return task_stream(who, row.pk, request.headers.get("Last-Event-ID", "") or request.GET.get("after", ""))


def _allowed(request: HttpRequest, task: UUID) -> tuple[Principal, Task]:
    if not request.user.is_authenticated:
        raise Http404
    return principal(request), task_of(request, task)


def _deeds(request: HttpRequest, task: Task, state: Progress) -> list[tuple[str, str]]:
    """What the person may do to the task as it is: the page's name and the button's text."""
    runs = containers_with(principal(request), Permission.TASK_RUN, Team).filter(pk=task.team_id)
    if not runs.exists():
        return []
    deeds = []
    if state.status == TaskStatus.PLANNED:
        deeds.append(("approve-plan", "Approve the plan"))
    if state.status not in TERMINAL and not task.cancel_requested_at:
        deeds.append(("cancel", "Cancel"))
    if state.status in _RESUMABLE and task.pruned_at is None:
        deeds.append(("resume", "Resume"))
    return [(f"console:task-{name}", text) for name, text in deeds]


def _budgets(task: Task, *, ended: bool) -> dict[str, Any]:
    """What pays for the task, narrowest first, and the budget because of which nothing more of it begins."""
    rows = list(paying(organization=task.organization_id, team=task.team_id, tasks=[task.pk]))
    spent = [row for row in rows if row.exhausted and not ended]
    return {"budgets": [(row.scope, in_words(row)) for row in reversed(rows)], "spent_budget": next(iter(spent), None)}


def task_of(request: HttpRequest, task: UUID) -> Task:
    """The task; absent and forbidden give the same 404."""
    try:
        return access_task(principal(request), task, Permission.ORGANIZATION_VIEW)
    except TikiTakaError as error:
        raise Http404 from error


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
