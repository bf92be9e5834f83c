"""The one shape of every refusal: `code` to program against, `detail` to read, `fields` where a value is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from apps.api.throttling import CounterAway
from tikitaka.errors import Forbidden, Invalid, NotFound, TikiTakaError, WrongState

log = structlog.get_logger(__name__)
_RETRY_S = "5"
_STATUS: tuple[tuple[type[TikiTakaError], int], ...] = (
    (Invalid, 400),
    (NotFound, 404),
    (Forbidden, 403),
    (WrongState, 409),
)
_CODES: tuple[tuple[type[exceptions.APIException], str], ...] = (
    (exceptions.NotAuthenticated, "not_authenticated"),
    (exceptions.AuthenticationFailed, "not_authenticated"),
    (exceptions.PermissionDenied, "forbidden"),
    (exceptions.NotFound, "not_found"),
    (exceptions.MethodNotAllowed, "method_not_allowed"),
    (exceptions.NotAcceptable, "not_acceptable"),
    (exceptions.UnsupportedMediaType, "unsupported_media_type"),
    (exceptions.Throttled, "too_many_requests"),
    (exceptions.ParseError, "invalid"),
    (exceptions.ValidationError, "invalid"),
)


class TooLarge(TikiTakaError):
    """The body is larger than this address takes."""

    code = "too_large"


def refusal(code: str, detail: str, fields: Mapping[str, str] | None = None, **facts: Any) -> dict[str, Any]:
    """The body of an answer that refuses."""
    body: dict[str, Any] = {"code": code, "detail": detail, "fields": dict(fields or {})}
    return {**body, "facts": facts} if facts else body


def handle(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """What the framework answers with; None for a fault of ours, which Django reports."""
    answer = _answer_to(error, context)
    if answer is not None:
        answer.content_type = "application/json"  # also where something else is streamed
    return answer


def _answer_to(error: Exception, context: Mapping[str, Any]) -> Response | None:
    if isinstance(error, TikiTakaError):
        return _refused(error)
    if isinstance(error, Http404):
        return Response(refusal("not_found", "no such address"), status=404)
    if isinstance(error, PermissionDenied):
        return Response(refusal("forbidden", "not allowed"), status=403)
    if isinstance(error, OperationalError | InterfaceError):
        log.warning("the database is away", view=type(context.get("view")).__name__)
        return _away("database_away", "the database does not answer; nothing was done, try again")
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    return None


def _refused(error: TikiTakaError) -> Response:
    if isinstance(error, CounterAway):
        log.warning("the counter of requests is away")
        return _away(error.code, error.detail)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    if isinstance(error, TooLarge):
        status = 413
    fields = error.fields if isinstance(error, Invalid) else {}
    facts = {name: _plain(value) for name, value in error.facts.items()} if hasattr(error, "facts") else {}
    return Response(refusal(error.code, error.detail, fields, **facts), status=status)


def _away(code: str, detail: str) -> Response:
    return Response(refusal(code, detail), status=503, headers={"Retry-After": _RETRY_S})


def _of_framework(error: exceptions.APIException) -> Response:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "refused")
    headers = {}
    if isinstance(error, exceptions.AuthenticationFailed | exceptions.NotAuthenticated):
        headers["WWW-Authenticate"] = getattr(error, "auth_header", "Bearer")
    if isinstance(error, exceptions.Throttled) and error.wait is not None:
        headers["Retry-After"] = str(int(error.wait) + 1)
    fields: dict[str, str] = {}
    if isinstance(error, exceptions.ValidationError):
        _collect("", error.detail, fields)
        detail = "; ".join(f"{name}: {problem}" for name, problem in sorted(fields.items()))
    else:
        detail = str(error.detail)
    return Response(refusal(code, detail, fields), status=error.status_code, headers=headers)


def _collect(path: str, found: Any, fields: dict[str, str]) -> None:
    """The framework nests what is wrong as the body is nested; a name with dots says where."""
    if isinstance(found, Mapping):
        for name, inner in found.items():
            _collect(f"{path}.{name}" if path else str(name), inner, fields)
    elif isinstance(found, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in found):
        for place, inner in enumerate(found):
            if inner:
                _collect(f"{path}.{place}" if path else str(place), inner, fields)
    else:
        words = found if isinstance(found, list | tuple) else [found]
        fields[path or "body"] = " ".join(str(word) for word in words)


def _plain(value: object) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | bool | None) else str(value)


def not_found(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 the signature of a view
    """An address below /api/ that does not exist."""
    return JsonResponse(refusal("not_found", "no such address"), status=HTTPStatus.NOT_FOUND)
