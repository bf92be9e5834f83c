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

from apps.console.identity import principal
from apps.console.views.picture import draw
from apps.console.views.progress import Progress, feed_after, progress
from apps.tasks.models import Task
from apps.tasks.selectors import TERMINAL, access_task
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError

_LOOK_S = 0.5
_BEAT_LOOKS = 30
_MAX_LOOKS = 7_200


@login_required
def task_page(request: HttpRequest, task: UUID) -> HttpResponse:
    """Works without JavaScript too, as it was when it was loaded."""
    row = _task_of(request, task)
    state = progress(row.pk)
    return render(
        request,
        "console/task.html",
        {
            "task": row,
            "state": state,
            "picture": draw(state.nodes),
            "feed": feed_after(row.pk, ""),
            "live": row.status not in TERMINAL,
        },
    )


async def task_events(request: HttpRequest, task: UUID) -> HttpResponseBase:
    """Server-sent events: `state` whenever a node changes, `feed` for every new line; resumes after Last-Event-ID."""
    try:
        row = await sync_to_async(_allowed)(request, task)
    except Http404:
        return HttpResponse(status=404)
    last = request.headers.get("Last-Event-ID", "") or request.GET.get("after", "")
    response = StreamingHttpResponse(_events(row.pk, last), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def _events(task: UUID, last: str) -> AsyncIterator[bytes]:
    shown: Progress | None = None
    for look in range(_MAX_LOOKS):
        state, lines = await sync_to_async(_look)(task, last)
        for line in lines:
            last = line["id"]
            yield _event("feed", line, last)
        if state != shown:
            shown = state
            yield _event("state", state.as_json())
        if state.status in TERMINAL and not lines:
            yield _event("end", {"status": state.status})
            return
        if look % _BEAT_LOOKS == 0:
            yield b": still here\n\n"
        await asyncio.sleep(_LOOK_S)


def _look(task: UUID, last: str) -> tuple[Progress, list[dict[str, Any]]]:
    try:
        return progress(task), feed_after(task, last)
    finally:
        close_old_connections()


def _event(name: str, data: dict[str, Any], identity: str = "") -> bytes:
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _allowed(request: HttpRequest, task: UUID) -> Task:
    if not request.user.is_authenticated:
        raise Http404
    return _task_of(request, task)


def _task_of(request: HttpRequest, task: UUID) -> Task:
    try:
        return access_task(principal(request), task, Permission.ORGANIZATION_VIEW)
    except TikiTakaError as error:
        raise Http404 from error
