"""What an agent's own machine is given and what it reports."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from apps.api.shapes.base import Query, Shape, Strict
from apps.api.shapes.external import WAIT_S_MAX
from apps.memory.models import FileKind
from apps.memory.services.landing.manifest import FILES_MAX

_DIGEST = r"\A[0-9a-f]{64}\Z"


class WaitQuery(Query):
    wait_s = serializers.IntegerField(
        default=0, min_value=0, max_value=WAIT_S_MAX, help_text="how long to wait for another manifest than the known"
    )


class GovernedFileShape(Shape):
    """A governed file, whole."""

    path = serializers.CharField(help_text="`AGENTS.md` or `.agents/skills/<key>/SKILL.md`")
    digest = serializers.CharField(help_text="SHA-256 of the file's bytes, in hex")
    content = serializers.CharField(help_text="the file's bytes are this text in UTF-8")
    kind = serializers.ChoiceField(
        choices=FileKind.choices, help_text="a `foreign_skill` is a person's, in which only blocks are ours"
    )


class RefusedFileShape(Shape):
    """A governed file that is not given out now: keep what you have of it."""

    path = serializers.CharField()
    reason = serializers.CharField()


class ManifestShape(Shape):
    """Everything governed that is to lie in the agent's folder, and nothing else."""

    version = serializers.CharField(help_text="names this manifest; the ETag is this in quotes")
    report_s = serializers.IntegerField(help_text="report at least this often")
    files = GovernedFileShape(many=True)
    refused = RefusedFileShape(many=True)


class HeldFile(Strict):
    path = serializers.CharField(max_length=255)
    digest = serializers.RegexField(_DIGEST, allow_blank=True, help_text="empty where the file cannot be read")
    fault = serializers.RegexField(
        r"\A[a-z_]{1,32}\Z", required=False, allow_blank=True, default="", help_text="why it cannot be read"
    )


@extend_schema_serializer(
    examples=[
        OpenApiExample("One file", value={"version": "0" * 64, "files": [{"path": "AGENTS.md", "digest": "0" * 64}]})
    ]
)
class Holding(Strict):
    version = serializers.RegexField(_DIGEST, help_text="the manifest that you last brought the folder to")
    files = serializers.ListField(
        child=HeldFile(), max_length=FILES_MAX, help_text="every governed file that lies in the folder"
    )


class WrongFileShape(Shape):
    path = serializers.CharField()
    reason = serializers.CharField()


class ConfirmationShape(Shape):
    """What came of the report."""

    version = serializers.CharField(help_text="the present manifest; another than yours: fetch it")
    confirmed = serializers.ListField(child=serializers.CharField(), help_text="files that are as they should be")
    wrong = WrongFileShape(many=True, help_text="files that are not: an incident, until they are")
    unknown = serializers.ListField(child=serializers.CharField(), help_text="paths that the manifest does not give")
