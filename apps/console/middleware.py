"""A content security policy for every page: nothing from another host, no inline script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

# The admin theme sets inline styles and evaluates its own component expressions, therefore the two relaxations there.
_STRICT = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_ADMIN = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class ContentSecurityPolicyMiddleware:
    """Works under WSGI and ASGI alike."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if iscoroutinefunction(self.get_response):
            return self._later(request)
        response = self.get_response(request)
        return _with_policy(request, response)  # type: ignore[arg-type]

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        return _with_policy(request, await self.get_response(request))  # type: ignore[misc]


def _with_policy(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    admin = request.path.startswith("/admin/")
    response.headers.setdefault("Content-Security-Policy", _ADMIN if admin else _STRICT)
    return response
