"""Segments, notes with every agent's verdict, landings, incidents, the ledger, tokens."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from apps.api.shapes.base import Query, Shape, Strict
from apps.api.shapes.work import TeamQuery
from apps.conductor.models import IncidentKind
from apps.memory.models import FlushStatus, LandingStatus, SegmentStatus
from tikitaka.authz import MACHINE_SCOPES, TokenKind
from tikitaka.notes.contract import Severity
from tikitaka.review.states import NoteStatus

SEVERITIES = [severity.value for severity in Severity]
NOTE_STATES = [status.value for status in NoteStatus]
TOKEN_KINDS = [kind.value for kind in TokenKind]
SCOPES = sorted(scope.value for scope in MACHINE_SCOPES)


class SegmentShape(Shape):
    id = serializers.UUIDField()
    team = serializers.UUIDField(source="team_id")
    status = serializers.ChoiceField(choices=SegmentStatus.choices)
    close_reason = serializers.CharField()
    signal = serializers.CharField()
    value_bp = serializers.IntegerField(allow_null=True)
    threshold_bp = serializers.IntegerField(allow_null=True)
    opened_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class FlushShape(Shape):
    """One distillation of a segment: which nodes it covers, every counted attempt, and what became of it."""

    id = serializers.UUIDField()
    segment = serializers.UUIDField(source="segment_id")
    ordinal = serializers.IntegerField()
    final = serializers.BooleanField()
    status = serializers.ChoiceField(choices=FlushStatus.choices)
    nodes = serializers.ListField(child=serializers.CharField())
    extractor = serializers.CharField()
    attempts = serializers.ListField(child=serializers.JSONField())
    reason = serializers.CharField()
    dropped = serializers.ListField(child=serializers.JSONField())
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class NoteShape(Shape):
    """A durable statement. `content_digest` is what a decision must name."""

    id = serializers.UUIDField()
    team = serializers.UUIDField(source="team_id")
    segment = serializers.UUIDField(source="segment_id", allow_null=True)
    source = serializers.CharField()
    content = serializers.CharField()
    description = serializers.CharField()
    rationale = serializers.CharField()
    skill_key = serializers.CharField()
    severity = serializers.ChoiceField(choices=SEVERITIES)
    status = serializers.ChoiceField(choices=NOTE_STATES)
    version = serializers.IntegerField()
    content_digest = serializers.CharField()
    review_reasons = serializers.ListField(child=serializers.CharField())
    findings = serializers.ListField(child=serializers.JSONField())
    redacted = serializers.BooleanField()
    quarantined = serializers.BooleanField()
    possible_update_of = serializers.UUIDField(source="possible_update_of_id", allow_null=True)
    written_by = serializers.UUIDField(source="written_by_id", allow_null=True)
    edited_by = serializers.UUIDField(source="edited_by_id", allow_null=True)
    decided_by = serializers.UUIDField(source="decided_by_id", allow_null=True)
    created_at = serializers.DateTimeField()
    activated_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class RecipientShape(Shape):
    """One agent's verdict: granted, or withheld with its reason."""

    agent = serializers.UUIDField(source="agent_id")
    verdict = serializers.ChoiceField(choices=["granted", "withheld"])
    reason = serializers.CharField()
    match_kind = serializers.CharField()
    score_bp = serializers.IntegerField(allow_null=True)
    threshold_bp = serializers.IntegerField(allow_null=True)
    placement = serializers.CharField()
    placement_key = serializers.CharField()


class DecisionShape(Shape):
    verdict = serializers.CharField()
    reviewer = serializers.UUIDField(source="reviewer_id")
    content_digest = serializers.CharField()
    words = serializers.CharField()
    at = serializers.DateTimeField()


class ReviewItemShape(Shape):
    """A version of a note that waits, or waited, for a person."""

    id = serializers.UUIDField()
    note = serializers.UUIDField(source="note_id")
    note_version = serializers.IntegerField()
    reasons = serializers.ListField(child=serializers.CharField())
    opened_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class LandingShape(Shape):
    id = serializers.UUIDField()
    note = serializers.UUIDField(source="note_id")
    agent = serializers.UUIDField(source="agent_id")
    file = serializers.CharField()
    kind = serializers.CharField()
    block_digest = serializers.CharField()
    status = serializers.ChoiceField(choices=LandingStatus.choices)
    fault = serializers.CharField()
    intended_at = serializers.DateTimeField()
    landed_at = serializers.DateTimeField(allow_null=True)
    confirmed_at = serializers.DateTimeField(allow_null=True)
    remove_requested_at = serializers.DateTimeField(allow_null=True)
    removed_at = serializers.DateTimeField(allow_null=True)


class WholeNote(NoteShape):
    """A note with every agent's verdict, what people decided, and where it lies."""

    recipients = RecipientShape(many=True)
    decisions = DecisionShape(many=True)
    landings = LandingShape(many=True)


class NoteQuery(TeamQuery):
    status = serializers.ChoiceField(choices=NOTE_STATES, required=False)
    segment = serializers.UUIDField(required=False)


class ReviewItemQuery(Query):
    note = serializers.UUIDField(required=False)
    open = serializers.BooleanField(
        required=False, default=None, allow_null=True, help_text="only those that wait, or do not any more"
    )


class FlushQuery(Query):
    segment = serializers.UUIDField(required=False)
    status = serializers.ChoiceField(choices=FlushStatus.choices, required=False)


class SegmentQuery(TeamQuery):
    status = serializers.ChoiceField(choices=SegmentStatus.choices, required=False)


class LandingQuery(Query):
    note = serializers.UUIDField(required=False)
    agent = serializers.UUIDField(required=False)
    status = serializers.ChoiceField(choices=LandingStatus.choices, required=False)


class _Text(Strict):
    content = serializers.CharField(max_length=2_000, trim_whitespace=False)
    description = serializers.CharField(max_length=300)
    skill_key = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    severity = serializers.ChoiceField(choices=SEVERITIES, default=Severity.NORMAL.value)
    rationale = serializers.CharField(max_length=1_000, required=False, allow_blank=True, default="")


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "A note",
            value={
                "team": "01890a5d-ac96-774b-bcce-b302099a8057",
                "content": "The staging server is rebuilt every Monday at 06:00 UTC.",
                "description": "When staging is rebuilt",
            },
        )
    ]
)
class NewNote(_Text):
    team = serializers.UUIDField()


class Approval(Strict):
    recipients = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        min_length=1,
        max_length=64,
        help_text="some of those who were proposed; all where it is left out",
    )
    words = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class Words(Strict):
    words = serializers.CharField(max_length=500, help_text="why; it is kept with the decision")


class Edit(Strict):
    text = _Text(required=False)
    recipients = serializers.ListField(
        child=serializers.UUIDField(), required=False, min_length=1, max_length=64, help_text="inside the team"
    )
    words = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class IncidentShape(Shape):
    id = serializers.UUIDField()
    team = serializers.UUIDField(source="team_id", allow_null=True)
    kind = serializers.ChoiceField(choices=IncidentKind.choices)
    subject = serializers.CharField()
    detail = serializers.CharField()
    count = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class IncidentQuery(TeamQuery):
    kind = serializers.ChoiceField(choices=IncidentKind.choices, required=False)
    open = serializers.BooleanField(
        required=False, default=None, allow_null=True, help_text="only those that are, or are not any more"
    )


class EntryShape(Shape):
    """One entry; `header` is the canonical text that was hashed, `leaf` its hash in the chain."""

    id = serializers.UUIDField()
    log = serializers.UUIDField(source="log_id")
    seq = serializers.IntegerField()
    type = serializers.CharField()
    actor = serializers.CharField(source="actor_id")
    subject_kind = serializers.CharField()
    subject = serializers.CharField(source="subject_id")
    team = serializers.CharField(source="team_id")
    header = serializers.CharField()
    leaf = serializers.CharField()
    recorded_at = serializers.DateTimeField()


class EntryQuery(TeamQuery):
    organization = serializers.UUIDField()
    type = serializers.CharField(max_length=64, required=False)
    subject = serializers.CharField(max_length=64, required=False)


class LogShape(Shape):
    """The head of an organization's log, and what verifying it said last."""

    id = serializers.UUIDField()
    organization = serializers.UUIDField(source="organization_id")
    incarnation = serializers.IntegerField()
    origin = serializers.CharField()
    size = serializers.IntegerField()
    tip = serializers.CharField()
    last_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    checked_at = serializers.DateTimeField(allow_null=True, help_text="when it was verified last")
    checked_size = serializers.IntegerField(allow_null=True)
    valid = serializers.BooleanField(allow_null=True)


class VerificationShape(Shape):
    log = serializers.UUIDField()
    size = serializers.IntegerField()
    valid = serializers.BooleanField()
    fault = serializers.CharField(help_text="what is wrong, empty where nothing is")


class OrganizationQuery(Query):
    organization = serializers.UUIDField()


class TokenShape(Shape):
    """A token without its secret, which is shown once."""

    id = serializers.UUIDField()
    organization = serializers.UUIDField(source="organization_id")
    kind = serializers.ChoiceField(choices=TOKEN_KINDS)
    name = serializers.CharField()
    prefix = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    teams = serializers.ListField(child=serializers.UUIDField(), allow_null=True)
    agent = serializers.UUIDField(source="agent_id", allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class NewTokenShape(TokenShape):
    token = serializers.CharField(help_text="the whole token; it is never shown again")


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "An orchestrator's",
            value={
                "organization": "01890a5d-ac96-774b-bcce-b302099a8057",
                "name": "nightly builds",
                "scopes": ["view_organization_work", "run_task", "lease_node"],
                "days": 30,
            },
        )
    ]
)
class NewToken(Strict):
    organization = serializers.UUIDField()
    name = serializers.CharField(max_length=80)
    days = serializers.IntegerField(min_value=1, max_value=90)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES), min_length=1, max_length=32)
    teams = serializers.ListField(
        child=serializers.UUIDField(), required=False, min_length=1, max_length=200, help_text="all where left out"
    )


class NewAgentToken(Strict):
    name = serializers.CharField(max_length=80)
    days = serializers.IntegerField(min_value=1, max_value=90)
