"""Where events are sent, and what became of them."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from apps.api.shapes.base import Query, Shape, Strict
from tikitaka.webhooks.addresses import URL_CHARS_MAX
from tikitaka.webhooks.events import WebhookEvent

EVENTS = [event.value for event in WebhookEvent]


class WebhookShape(Shape):
    """An endpoint. Of its address the host is shown: path and query may hold what only the receiver should know."""

    id = serializers.UUIDField()
    organization = serializers.UUIDField()
    host = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    all_teams = serializers.BooleanField()
    teams = serializers.ListField(child=serializers.UUIDField())
    active = serializers.BooleanField()
    disabled_reason = serializers.CharField()
    failures = serializers.IntegerField(help_text="attempts in a row that failed")
    created_at = serializers.DateTimeField()


class NewWebhookShape(WebhookShape):
    secret = serializers.CharField(help_text="signs every message; it is never shown again")


class _Choice(Strict):
    url = serializers.CharField(max_length=URL_CHARS_MAX)
    events = serializers.ListField(child=serializers.ChoiceField(choices=EVENTS), min_length=1, max_length=len(EVENTS))
    teams = serializers.ListField(
        child=serializers.UUIDField(), required=False, min_length=1, max_length=200, help_text="all where left out"
    )


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "Tell when tasks have ended",
            value={
                "organization": "01890a5d-ac96-774b-bcce-b302099a8057",
                "url": "https://hooks.example.org/tikitaka",
                "events": ["task.settled", "note.waiting"],
            },
        )
    ]
)
class NewWebhook(_Choice):
    organization = serializers.UUIDField()


class WebhookChange(_Choice):
    active = serializers.BooleanField(default=True)


class Rotation(Strict):
    at_once = serializers.BooleanField(default=False, help_text="the old secret ends now, because somebody has it")


class DeliveryShape(Shape):
    id = serializers.UUIDField()
    endpoint = serializers.UUIDField(source="endpoint_id")
    event = serializers.CharField()
    seq = serializers.IntegerField(allow_null=True)
    body = serializers.CharField()
    attempts = serializers.IntegerField()
    last_status = serializers.IntegerField(allow_null=True)
    error = serializers.CharField()
    next_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    delivered_at = serializers.DateTimeField(allow_null=True)
    gave_up_at = serializers.DateTimeField(allow_null=True)


class DeliveryQuery(Query):
    endpoint = serializers.UUIDField(required=False)
