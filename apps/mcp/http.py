"""MCP over streamable HTTP: one request, one JSON answer, no session, so that any worker can answer.

Who asks is settled before the protocol is looked at: the host, the origin, then the bearer token.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections
from django.http.request import split_domain_port, validate_host

from apps.conductor.refusals import Refusals
from apps.mcp.server import agent_of, build, caller
from tikitaka.authz import Principal

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PATH = "/mcp/"
BODY_BYTES = 1024 * 1024
refused_callers = Refusals("mcp")


def application() -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The door as an ASGI application; it must be given the server's lifespan too."""
    from mcp.server.transport_security import TransportSecuritySettings

    inner = build(caller.get).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=BODY_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the door checks itself
    )

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await inner(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not _is_ours(headers.get("host", "")):
            await _refuse(send, 421, "misdirected", "this host is not served here")
            return
        if not _comes_from_us(headers.get("origin")):
            await _refuse(send, 403, "forbidden", "pages of others may not ask")
            return
        who = await sync_to_async(_who)(headers.get("authorization", ""))
        if who is None:
            await sync_to_async(refused_callers.add)()
            await _refuse(send, 401, "not_authenticated", "show the token of an agent")
            return
        token = caller.set(who)
        try:
            await inner(scope, receive, send)
        finally:
            caller.reset(token)

    return door


def _who(authorization: str) -> Principal | None:
    words = authorization.split()
    close_old_connections()
    try:
        return agent_of(words[1]) if len(words) == 2 and words[0].lower() == "bearer" else None
    finally:
        close_old_connections()


def _is_ours(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def _comes_from_us(origin: str | None) -> bool:
    return origin is None or _is_ours(urlsplit(origin).netloc)


async def _refuse(send: Send, status: int, code: str, detail: str) -> None:
    body = json.dumps({"code": code, "detail": detail, "fields": {}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="tikitaka"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
