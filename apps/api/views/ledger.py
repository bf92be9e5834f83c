"""The organization's log: its head, its entries, verifying it, taking it away as a file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, ClassVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Organization
from apps.api.reading import Rows
from apps.api.shapes.base import Nothing, PageQuery, require_known
from apps.api.shapes.memory import EntryQuery, EntryShape, LogShape, OrganizationQuery, VerificationShape
from apps.api.views.base import Door, StreamRenderer, page_of
from apps.conductor.models import LogCheck
from apps.ledger.models import Entry, Log
from apps.ledger.selectors import logs, verify_log
from tikitaka.authz import Permission
from tikitaka.errors import NotFound
from tikitaka.ledger.chain import Broken

_LINES = 500


class _Ledger(Door):
    def log_of(self, organization: UUID, permission: Permission = Permission.LEDGER_READ) -> Log:
        """The newest log of an organization whose ledger the caller may read."""
        self.reach(Organization, organization, permission, sees=permission, path="pk")
        found = logs(organization).order_by("-incarnation").first()
        if found is None:
            raise NotFound("the organization has no log yet")
        return found


class LedgerHead(_Ledger):
    names: ClassVar = {"GET": "get_ledger"}

    @extend_schema(parameters=[OrganizationQuery], responses=LogShape)
    def get(self, request: Request) -> Response:
        """The head of an organization's log, and what verifying it said last."""
        require_known(request, OrganizationQuery)
        log = self.log_of(OrganizationQuery.of(request)["organization"])
        return Response({**self.shown(Log, log.pk, _Head), **_checked(log)})


def _checked(log: Log) -> dict[str, Any]:
    """When a log was verified last, how long it was then and whether it was valid; nothing where nobody did."""
    found = LogCheck.objects.filter(log=log.pk).values_list("checked_at", "size", "valid").first()
    return dict(zip(("checked_at", "checked_size", "valid"), found or (None, None, None), strict=True))


def _verified(log: Log) -> dict[str, Any]:
    result = verify_log(log)
    broken = result.result if isinstance(result.result, Broken) else None
    fault = f"entry {broken.seq}, rule {broken.rule}: {broken.detail}" if broken else ""
    return {"size": result.entries, "valid": result.valid, "fault": fault}


class _Head(LogShape):
    """The columns of the head itself."""

    checked_at = None
    checked_size = None
    valid = None


class LedgerEntries(_Ledger):
    names: ClassVar = {"GET": "list_entries"}

    @extend_schema(parameters=[PageQuery, EntryQuery], responses=page_of(EntryShape))
    def get(self, request: Request) -> Response:
        """The entries of an organization's newest log, in its order."""
        asked = EntryQuery.of(request)
        columns = {"type": "type", "subject": "subject_id", "team": "team_id"}
        wanted = {column: str(asked[name]) for name, column in columns.items() if name in asked}
        rows = Rows(Entry).where(log=self.log_of(asked["organization"]).pk, **wanted)
        return self.page(rows, EntryShape, EntryQuery, by="seq", read=int)


class LedgerVerification(_Ledger):
    names: ClassVar = {"POST": "verify_ledger"}

    @extend_schema(parameters=[OrganizationQuery], request=Nothing, responses=VerificationShape)
    def post(self, request: Request) -> Response:
        """Recomputes the whole log from its stored bytes, now. It takes as long as the log is long."""
        Nothing.read(request)
        require_known(request, OrganizationQuery)
        log = self.log_of(OrganizationQuery.of(request)["organization"], Permission.LEDGER_VERIFY)
        return Response({"log": log.pk, **_verified(log)})


class LinesRenderer(StreamRenderer):
    media_type = "application/x-ndjson"
    format = "lines"


class LedgerExport(_Ledger):
    names: ClassVar = {"GET": "export_ledger"}
    renderer_classes = [LinesRenderer, JSONRenderer]

    @extend_schema(
        parameters=[OrganizationQuery],
        responses={(200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR, description="a line an entry")},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """The log as lines of JSON: first its head, then every entry with the very text that was hashed."""
        require_known(request, OrganizationQuery)
        log = self.log_of(OrganizationQuery.of(request)["organization"])
        response = StreamingHttpResponse(_lines(log), content_type="application/x-ndjson")
        response["Content-Disposition"] = f'attachment; filename="ledger-{log.organization_id}.jsonl"'
        return response


async def _lines(log: Log) -> AsyncIterator[bytes]:
    """Up to the size that the head had when somebody asked: what is appended meanwhile is not half of it."""
    yield _line({"origin": log.origin, "size": log.size, "tip": log.tip})
    for start in range(0, log.size, _LINES):
        for seq, header, leaf in await sync_to_async(_read)(log, start):
            yield _line({"seq": seq, "header": header, "leaf": leaf})


def _read(log: Log, start: int) -> list[tuple[int, str, str]]:
    try:
        rows = Entry.objects.filter(log=log, seq__gte=start, seq__lt=min(start + _LINES, log.size)).order_by("seq")
        return list(rows.values_list("seq", "header", "leaf"))
    finally:
        close_old_connections()


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"
