"""The site's addresses and one more: the least that a view of the framework can be."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class Plain(APIView):
    authentication_classes: list[type] = []
    permission_classes: list[type] = []
    throttle_classes: list[type] = []

    def get(self, request: Request) -> Response:  # noqa: ARG002 the framework's parameters
        return Response({"ok": True})


urlpatterns = [path("bench/plain", Plain.as_view()), path("", include("config.urls"))]
