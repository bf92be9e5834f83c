"""Is this process fit to answer, and is the installation fit to work? Says nothing about what is inside."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from apps.conductor.broker_state import broker_answers
from apps.conductor.fitness import database_fault, hosts_fault, workspaces_fault

_RETRY_S = "5"


def healthz(_: HttpRequest) -> JsonResponse:
    """200 while the database answers and the ledger's triggers are in place, 503 with the named fault otherwise."""
    fault = database_fault()
    if fault is not None:
        return _refused({"status": "unhealthy", "fault": fault})
    return JsonResponse({"status": "healthy"})


def readyz(_: HttpRequest) -> JsonResponse:
    """200 while work that is submitted now would get done; 503 names everything that stands in the way.

    Pages answer all the same: what waits for a broker or a disk is not lost.
    """
    found = {
        "database": database_fault(),
        "broker": None if broker_answers() else "away",
        "workspaces": workspaces_fault(),
        "hosts": hosts_fault(),
    }
    faults = {part: fault for part, fault in found.items() if fault is not None}
    if faults:
        return _refused({"status": "not_ready", "faults": faults})
    return JsonResponse({"status": "ready"})


def error(request: HttpRequest) -> HttpResponse:
    """What a request ends with that nobody caught. A database that is away is no fault of the page: try again."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return server_error(request)
    answer = HttpResponse(render_to_string("503.html"), status=503)
    answer["Retry-After"] = _RETRY_S
    return answer


def _refused(body: dict[str, object]) -> JsonResponse:
    return JsonResponse(body, status=503, headers={"Retry-After": _RETRY_S})
