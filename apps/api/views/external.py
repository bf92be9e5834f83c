"""Nodes that somebody else's orchestrator runs."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.parsing import LARGE_BODY_BYTES
from apps.api.shapes.base import Nothing
from apps.api.shapes.external import (
    Completion,
    CompletionShape,
    HeartbeatShape,
    LeaseRequest,
    LeaseShape,
    SpanBatch,
    StoredShape,
)
from apps.api.views.base import Door
from apps.conductor import external
from apps.conductor.external import Lease
from apps.teams.models import Team
from tikitaka.authz import Permission
from tikitaka.capture.events import SpanDraft
from tikitaka.errors import Invalid

_SPANS_MAX = 1_000


class NodeLease(Door):
    names: ClassVar = {"POST": "lease_node"}

    @extend_schema(
        request=LeaseRequest,
        responses={200: LeaseShape, 204: OpenApiResponse(description="Nothing became ready in time; ask again.")},
    )
    def post(self, request: Request) -> Response:
        """Hands out the next ready node of the team's external agents, and waits for one up to `wait_s` seconds."""
        asked = LeaseRequest.read(request)
        team = self.reach(Team, asked["team"], Permission.NODE_LEASE)
        lease = external.lease_node(actor=self.actor, team=team, agents=asked.get("agents"), wait_s=asked["wait_s"])
        return Response(status=204) if lease is None else Response(_shown(lease))


def _shown(lease: Lease) -> dict[str, object]:
    order, claimed, compiled = lease.prepared.order, lease.prepared.claimed, lease.prepared.compiled
    return {
        "task": claimed.task,
        "node": claimed.node,
        "index": order.index,
        "attempt": claimed.attempt,
        "number": claimed.number,
        "agent": claimed.agent,
        "prompt": compiled.prompt,
        "thread": compiled.thread_id,
        "envelope": {
            "agent": order.agent,
            "agent_name": order.agent_name,
            "role": order.role,
            "instruction": order.instruction,
            "expected_output": order.expected_output,
            "work_area": order.work_area,
            "globs": order.globs,
            "writes": order.writes,
            "depends_on": order.depends_on,
        },
        "token": str(lease.token),
        "expires_at": lease.expires_at,
        "heartbeat_s": settings.TIKITAKA_POLICY.lease_renew_s,
    }


class AttemptHeartbeat(Door):
    names: ClassVar = {"POST": "heartbeat"}

    @extend_schema(request=Nothing, responses=HeartbeatShape)
    def post(self, request: Request, attempt: UUID) -> Response:
        """Keeps the lease. 409 `attempt_over` when it is lost: stop, nothing that comes later is taken."""
        Nothing.read(request)
        beat = external.heartbeat(actor=self.actor, attempt=attempt)
        return Response({"expires_at": beat.expires_at, "cancel_requested": beat.cancel_requested})


class AttemptSpanBatch(Door):
    body_bytes = LARGE_BODY_BYTES
    names: ClassVar = {"POST": "append_spans"}

    @extend_schema(request=SpanBatch, responses=StoredShape)
    def post(self, request: Request, attempt: UUID) -> Response:
        """Stores what the agent did, up to a thousand spans at once; a number that comes again replaces the span."""
        spans = SpanBatch.read(request)["spans"]
        if len(spans) > _SPANS_MAX:
            raise Invalid(spans=f"at most {_SPANS_MAX} at once")
        drafts = [(span.pop("seq"), SpanDraft(**span)) for span in map(dict, spans)]
        external.append_spans(actor=self.actor, attempt=attempt, spans=drafts)
        return Response({"stored": len(drafts)})


class AttemptCompletion(Door):
    body_bytes = LARGE_BODY_BYTES
    names: ClassVar = {"POST": "complete_attempt"}

    @extend_schema(request=Completion, responses=CompletionShape)
    def post(self, request: Request, attempt: UUID) -> Response:
        """Writes the end of the attempt; its token is void from then on. Output or error must be given."""
        asked = Completion.read(request)
        if "output" not in asked and "error" not in asked:
            raise Invalid(output="give an output, or an error")
        status = external.complete(
            actor=self.actor,
            attempt=attempt,
            output=asked.get("output"),
            error=asked.get("error"),
            detail=asked["detail"],
            usage=asked.get("usage"),
            thread_id=asked.get("thread"),
        )
        return Response({"attempt": attempt, "status": status})
