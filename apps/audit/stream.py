"""A task as a stream of server-sent events, for the live page and for the REST door."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import StreamingHttpResponse

from apps.accounts.models import ServiceToken, User
from apps.accounts.selectors import containers_with
from apps.audit.progress import Position, Progress, feed_after, line_of, progress
from apps.ledger import clock
from apps.tasks.models import Span, Task
from apps.tasks.selectors import TERMINAL
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal

_LOOK_S = 0.5
_BEAT_LOOKS = 30
_MAX_LOOKS = 7_200


def task_stream(who: Principal, task: UUID, after: str) -> StreamingHttpResponse:
    """`state` when a node changes, `feed` for a line, new or finished, `end`; goes on behind the position `after`."""
    response = StreamingHttpResponse(_events(who, task, Position.parse(after)), content_type="text/event-stream")
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


def _still_allowed(who: Principal, task: UUID) -> bool:
    """Whoever loses a membership, an account or a token while a stream is open is told no more."""
    teams = containers_with(who, Permission.ORGANIZATION_VIEW, Team)
    return _still_there(who) and Task.objects.filter(pk=task, team__in=teams).exists()


def _still_there(who: Principal) -> bool:
    if who.grant is None:
        return who.id is not None and User.objects.filter(pk=who.id, is_active=True).exists()
    alive = ServiceToken.objects.filter(pk=who.auth["token"], revoked_at=None, expires_at__gt=clock.now())
    return alive.exists()
