"""Observe only: an organization that wants governed memory and nothing else sends what it records anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.parsing import LARGE_BODY_BYTES, bounded
from apps.api.shapes.base import PageQuery, require_known
from apps.api.shapes.imports import ImportedSourceShape, ImportQuery, ImportShape
from apps.api.shapes.work import TeamQuery
from apps.api.views.base import Door, page_of
from apps.conductor.importing import ImportedDocument, import_document
from apps.conductor.models import ImportSource
from apps.teams.models import Agent, Team
from tikitaka.authz import Permission
from tikitaka.errors import NotFound


class _Raw(BaseParser):
    """The body as it came: which form it has is read from itself."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return bounded(stream, parser_context)


class _Json(_Raw):
    media_type = "application/json"


class _Lines(_Raw):
    media_type = "application/x-ndjson"


class _Text(_Raw):
    media_type = "text/plain"


class Imports(Door):
    body_bytes = LARGE_BODY_BYTES
    parser_classes = [_Json, _Lines, _Text]
    names: ClassVar = {"GET": "list_imports", "POST": "import_recording"}

    @extend_schema(parameters=[PageQuery, TeamQuery], responses=page_of(ImportedSourceShape))
    def get(self, request: Request) -> Response:
        """The conversations that were taken in."""
        return self.page(self.rows(ImportSource).where(**TeamQuery.of(request)), ImportedSourceShape, TeamQuery)

    @extend_schema(
        parameters=[ImportQuery],
        request={
            "application/json": OpenApiTypes.OBJECT,
            "application/x-ndjson": OpenApiTypes.STR,
            "text/plain": OpenApiTypes.STR,
        },
        responses=ImportShape,
    )
    def post(self, request: Request) -> Response:
        """Takes a finished session in a form that `import_transcript` knows, or OpenTelemetry GenAI spans as OTLP JSON.

        Sending the same again changes nothing; sending more of the same conversation adds what is new.
        """
        require_known(request, ImportQuery)
        asked = ImportQuery.of(request)
        team = self.reach(Team, asked["team"], Permission.WORK_IMPORT)
        agent = None
        if "agent" in asked:
            agent = Agent.objects.filter(pk=asked["agent"], team=team).first()
            if agent is None:
                raise NotFound("no such agent")
        document = request.data if isinstance(request.data, bytes) else b""
        found = import_document(actor=self.actor, team=team, document=document, agent=agent, prompt=asked.get("prompt"))
        return Response(_shown(found))


def _shown(found: ImportedDocument) -> dict[str, Any]:
    return {
        "sessions": [
            {
                "source": one.source,
                "form": one.form,
                "thread": one.thread_id,
                "tasks": one.tasks,
                "spans": one.spans,
                "messages": one.messages,
                "filled": one.filled,
            }
            for one in found.imported
        ],
        "damaged": [{"what": one.what, "number": one.number, "reason": one.reason} for one in found.damaged],
        "changed": found.changed,
    }
