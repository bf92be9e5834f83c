"""The workspace of an agent that works on another machine: what is to lie there, and what lies there."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.schema import Refusal
from apps.api.shapes.base import require_known
from apps.api.shapes.workspaces import ConfirmationShape, Holding, ManifestShape, WaitQuery
from apps.api.views.base import Door
from apps.conductor import remote
from apps.conductor.remote import Delivery
from apps.memory.services.landing.confirm import Said
from tikitaka.errors import Invalid

_KNOWN = OpenApiParameter(
    "If-None-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="the `ETag` of the manifest that you have"
)
_STATE = OpenApiResponse(Refusal, description="The agent works in its folder here, or that folder cannot be read.")


class AgentWorkspace(Door):
    names: ClassVar = {"GET": "get_workspace"}

    @extend_schema(
        parameters=[WaitQuery, _KNOWN],
        responses={
            200: ManifestShape,
            304: OpenApiResponse(description="It is still the one that you have."),
            409: _STATE,
        },
    )
    def get(self, request: Request, agent: UUID) -> Response:
        """The governed files of the agent that asks, and of nobody else; waits for another manifest up to `wait_s`."""
        require_known(request, WaitQuery)
        asked = WaitQuery.of(request)
        known = _known(request.headers.get("If-None-Match", ""))
        found = remote.own_manifest(actor=self.actor, agent=agent, known=known, wait_s=asked["wait_s"])
        headers = {"ETag": f'"{found.manifest.version if found else known}"', "Cache-Control": "no-store"}
        return Response(status=304, headers=headers) if found is None else Response(_shown(found), headers=headers)


class WorkspaceReport(Door):
    names: ClassVar = {"POST": "report_workspace"}

    @extend_schema(request=Holding, responses=ConfirmationShape)
    def post(self, request: Request, agent: UUID) -> Response:
        """What lies in the agent's folder on its machine; a note there is available while this is confirmed."""
        asked = Holding.read(request)
        said = {file["path"]: Said(digest=file["digest"], fault=file["fault"]) for file in asked["files"]}
        if len(said) != len(asked["files"]):
            raise Invalid(files="name a path twice")
        found = remote.report_holding(actor=self.actor, agent=agent, version=asked["version"], said=said)
        return Response(
            {
                "version": found.version,
                "confirmed": found.confirmed,
                "wrong": [{"path": path, "reason": reason} for path, reason in found.wrong.items()],
                "unknown": found.unknown,
            }
        )


def _known(header: str) -> str:
    """The version that the caller has; what is no single ETag of ours is none."""
    return header.strip().removeprefix("W/").strip('"')


def _shown(found: Delivery) -> dict[str, object]:
    manifest = found.manifest
    return {
        "version": manifest.version,
        "report_s": found.report_s,
        "files": [
            {"path": file.path, "digest": file.digest, "content": file.content, "kind": file.kind}
            for file in manifest.files
        ],
        "refused": [{"path": file.path, "reason": file.reason} for file in manifest.refused],
    }
