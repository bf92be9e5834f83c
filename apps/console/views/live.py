"""The live page of a task: its graph as a picture and the merged feed by time, kept fresh by an event stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.db import close_old_connections
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render

from apps.accounts.models import User
from apps.accounts.selectors import containers_with
from apps.console.budgets import in_words
from apps.console.identity import abilities, principal
from apps.console.views.picture import draw
from apps.console.views.progress import LINES, Position, Progress, feed_after, feed_page, line_of, progress, removed
from apps.tasks.budgets import paying
from apps.tasks.models import Span, Task, TaskStatus
from apps.tasks.selectors import TERMINAL, access_task
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import TikiTakaError
from tikitaka.safety import show_hidden

_LOOK_S = 0.5
_BEAT_LOOKS = 30
_MAX_LOOKS = 7_200
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
    last = request.headers.get("Last-Event-ID", "") or request.GET.get("after", "")
    response = StreamingHttpResponse(_events(who, row.pk, Position.parse(last)), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def _events(who: Principal, task: UUID, position: Position) -> AsyncIterator[bytes]:
    shown: Progress | None = None
    for look in range(_MAX_LOOKS):
        if look % _BEAT_LOOKS == 0:
            if not await sync_to_async(_still_allowed)(who, task):
                return
            yield b": still here\n\n"
        state, rows = await sync_to_async(_look)(task, position)
        for row in rows:
            position = position.after([row])
            yield _event("feed", line_of(row), str(position))
        if state != shown:
            shown = state
            yield _event("state", state.as_json())
        if state.status in TERMINAL and not rows:
            yield _event("end", {"status": state.status})
            return
        await asyncio.sleep(_LOOK_S)


def _look(task: UUID, position: Position) -> tuple[Progress, list[Span]]:
    try:
        return progress(task), feed_after(task, position)
    finally:
        close_old_connections()


def _event(name: str, data: dict[str, Any], identity: str = "") -> bytes:
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _allowed(request: HttpRequest, task: UUID) -> tuple[Principal, Task]:
    if not request.user.is_authenticated:
        raise Http404
    return principal(request), task_of(request, task)


def _still_allowed(who: Principal, task: UUID) -> bool:
    """Whoever loses a membership or an account while a stream is open is told no more."""
    teams = containers_with(who, Permission.ORGANIZATION_VIEW, Team)
    active = who.id is not None and User.objects.filter(pk=who.id, is_active=True).exists()
    return active and Task.objects.filter(pk=task, team__in=teams).exists()


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
