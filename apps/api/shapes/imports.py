"""Work that was done and recorded elsewhere."""

from __future__ import annotations

from rest_framework import serializers

from apps.api.shapes.base import Query, Shape


class ImportQuery(Query):
    team = serializers.UUIDField()
    agent = serializers.UUIDField(required=False, help_text="whose work it was; traces may say so themselves")
    prompt = serializers.CharField(
        required=False, max_length=50_000, help_text="what was asked, where the recording does not say"
    )


class ImportedSessionShape(Shape):
    """What one session added; all counts are zero when it had been brought in before."""

    source = serializers.UUIDField()
    form = serializers.CharField()
    thread = serializers.CharField()
    tasks = serializers.IntegerField()
    spans = serializers.IntegerField()
    messages = serializers.IntegerField()
    filled = serializers.IntegerField(help_text="gaps that another recording of the session filled")


class DamageShape(Shape):
    """A line, or a span, that could not be read whole."""

    what = serializers.ChoiceField(choices=["line", "span"])
    number = serializers.IntegerField()
    reason = serializers.CharField()


class ImportShape(Shape):
    sessions = ImportedSessionShape(many=True)
    damaged = DamageShape(many=True)
    changed = serializers.BooleanField(help_text="false when everything had been brought in before")


class ImportedSourceShape(Shape):
    """A conversation that was recorded elsewhere, as it is known here."""

    id = serializers.UUIDField()
    team = serializers.UUIDField(source="team_id")
    agent = serializers.UUIDField(source="agent_id")
    thread = serializers.CharField(source="thread_id")
    forms = serializers.ListField(child=serializers.CharField())
    damaged_lines = serializers.ListField(child=serializers.JSONField())
    imported_at = serializers.DateTimeField()
