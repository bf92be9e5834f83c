"""The page that monitoring reads. Who does not hold the token is told what everybody is told of a page that is not."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from prometheus_client import CONTENT_TYPE_LATEST

from apps.audit.metrics.exposition import REFUSALS, exposition


@csrf_exempt  # reads only; a refusal for want of a form's token would tell that the page exists
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures for the bearer of TIKITAKA_METRICS_TOKEN; 404 for everybody else, and for all without the setting."""
    if not settings.TIKITAKA_METRICS_TOKEN:
        raise Http404
    if request.method not in ("GET", "HEAD") or not _holds_the_token(request):
        REFUSALS.add()
        raise Http404
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


def _holds_the_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.TIKITAKA_METRICS_TOKEN
    return secrets.compare_digest(token.strip().encode(), expected.encode()) and scheme.lower() == "bearer"
