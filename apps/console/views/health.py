"""Is this process fit to answer? Says nothing about what is inside."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from apps.ledger import triggers


def healthz(_: HttpRequest) -> JsonResponse:
    """200 while the database answers and the ledger's triggers are in place, 503 with the named fault otherwise."""
    try:
        missing = set(triggers.expected(connection)) - triggers.installed(connection)
    except DatabaseError:
        return JsonResponse({"status": "unhealthy", "fault": "database"}, status=503)
    if missing:
        return JsonResponse({"status": "unhealthy", "fault": "ledger_triggers"}, status=503)
    return JsonResponse({"status": "healthy"})
