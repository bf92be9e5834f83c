"""For every page: an id in the logs and in the answer, and a content security policy.

The policy: nothing from another host, no inline script.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponseBase
from structlog.contextvars import bind_contextvars, unbind_contextvars

# The admin theme sets inline styles and evaluates its own component expressions, therefore the two relaxations there.
_STRICT = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_ADMIN = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


# The description's page draws its marks from data that it carries, and styles its own elements.
_DESCRIPTION = _STRICT + "; img-src 'self' data:; style-src 'self' 'unsafe-inline'"


class _BothWays:
    """A middleware that works under WSGI and ASGI alike."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if iscoroutinefunction(self.get_response):
            return self._later(request)
        before = self.before(request)
        return self.after(request, self.get_response(request), before)

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        before = self.before(request)
        return self.after(request, await self.get_response(request), before)

    def before(self, request: HttpRequest) -> str:  # noqa: ARG002 for those who need it
        """What is to be known when the answer comes."""
        return ""

    def after(self, request: HttpRequest, response: HttpResponseBase, before: str) -> HttpResponseBase:
        """The answer with what this middleware adds."""
        raise NotImplementedError


class RequestIdMiddleware(_BothWays):
    """Every request has an id of its own; one that the caller sends is not taken, it would stand in our logs.

    It stays bound until the answer has been sent: Django says only then that a page was not found.
    """

    def before(self, request: HttpRequest) -> str:  # noqa: ARG002 nothing of the request is in its id
        identity = uuid4().hex
        bind_contextvars(request=identity)
        return identity

    def after(self, request: HttpRequest, response: HttpResponseBase, before: str) -> HttpResponseBase:  # noqa: ARG002
        response.headers["X-Request-Id"] = before
        return response


class ContentSecurityPolicyMiddleware(_BothWays):
    """What the browser may load and run."""

    def after(self, request: HttpRequest, response: HttpResponseBase, before: str) -> HttpResponseBase:  # noqa: ARG002
        policy = _ADMIN if request.path.startswith("/admin/") else _STRICT
        if request.path.startswith("/api/docs/"):
            policy = _DESCRIPTION
        response.headers.setdefault("Content-Security-Policy", policy)
        return response


def _forget(**_: Any) -> None:
    unbind_contextvars("request")


request_finished.connect(_forget)
