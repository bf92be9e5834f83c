"""The site for uvicorn: pages, event streams, and the MCP door, whose library starts with the server's lifespan."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from django.core.asgi import get_asgi_application
from django.core.signals import request_finished
from django.db import connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
_site = get_asgi_application()


def _close(**_: object) -> None:
    """Every request has a thread of its own here, and nobody comes back to a connection that one of them leaves."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


request_finished.connect(_close)
_MCP_PATHS = ("/mcp/", "/mcp")
Application = Callable[[Any, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


async def application(
    scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Sends what belongs to the MCP door there, and all else to Django."""
    if scope["type"] == "lifespan" or scope.get("path") in _MCP_PATHS:
        await _mcp_door()(scope, receive, send)
    else:
        await _site(scope, receive, send)


@cache
def _mcp_door() -> Application:
    """Made when the server starts: the protocol's library takes most of a second to import."""
    from apps.mcp.http import application as door

    return door()
