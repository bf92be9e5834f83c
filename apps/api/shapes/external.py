"""What an orchestrator that runs agents itself leases, and what it reports."""

from __future__ import annotations

from typing import get_args

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from apps.api.shapes.base import Shape, Strict
from apps.api.shapes.work import NewSpan
from apps.tasks.models import AttemptStatus
from tikitaka.ports import ErrorKind

WAIT_S_MAX = 30
REPORTABLE = [kind for kind in get_args(ErrorKind) if kind != "interrupted"]


@extend_schema_serializer(
    examples=[
        OpenApiExample("Wait for a node", value={"team": "01890a5d-ac96-774b-bcce-b302099a8057", "wait_s": 20}),
    ]
)
class LeaseRequest(Strict):
    team = serializers.UUIDField()
    agents = serializers.ListField(
        child=serializers.UUIDField(), required=False, min_length=1, max_length=64, help_text="only nodes of these"
    )
    wait_s = serializers.IntegerField(default=0, min_value=0, max_value=WAIT_S_MAX)


class Envelope(Shape):
    """The structured form of what the agent is asked to do."""

    agent = serializers.UUIDField()
    agent_name = serializers.CharField()
    role = serializers.CharField()
    instruction = serializers.CharField()
    expected_output = serializers.CharField()
    work_area = serializers.CharField()
    globs = serializers.ListField(child=serializers.CharField())
    writes = serializers.BooleanField()
    depends_on = serializers.ListField(child=serializers.IntegerField())


class LeaseShape(Shape):
    """A node that is yours until `expires_at` unless you say that you live. `token` is good for this attempt alone."""

    task = serializers.UUIDField()
    node = serializers.UUIDField()
    index = serializers.IntegerField()
    attempt = serializers.UUIDField()
    number = serializers.IntegerField()
    agent = serializers.UUIDField()
    prompt = serializers.CharField(help_text="the rendered context, exactly as it was saved")
    thread = serializers.CharField(allow_null=True, help_text="the thread of the agent's own that may be continued")
    envelope = Envelope()
    token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    heartbeat_s = serializers.IntegerField(help_text="say that you live at least this often")


class HeartbeatShape(Shape):
    expires_at = serializers.DateTimeField()
    cancel_requested = serializers.BooleanField(help_text="stop, and complete with the error `cancelled`")


class SpanBatch(Strict):
    spans = NewSpan(many=True)


class StoredShape(Shape):
    stored = serializers.IntegerField()


@extend_schema_serializer(
    examples=[
        OpenApiExample("Done", value={"output": "The check is at /healthz.", "usage": {"input_tokens": 1200}}),
        OpenApiExample("Failed", value={"error": "exit_nonzero", "detail": "exit code 2"}),
    ]
)
class Completion(Strict):
    output = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, help_text="the answer")
    error = serializers.ChoiceField(choices=REPORTABLE, required=False)
    detail = serializers.CharField(max_length=2_000, required=False, allow_blank=True, default="")
    usage = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=10**12), required=False, help_text="tokens by name"
    )
    thread = serializers.CharField(max_length=200, required=False)


class CompletionShape(Shape):
    attempt = serializers.UUIDField()
    status = serializers.ChoiceField(choices=AttemptStatus.choices)
