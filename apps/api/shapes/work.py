"""Organizations, teams, agents, tasks and what belongs to them."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from apps.api.shapes.base import AnyJSON, Query, Shape, Strict
from apps.tasks.models import AttemptStatus, PlanSource, SpanKind, TaskStatus
from apps.tasks.services.progress import PROGRESS_FROM
from apps.teams.models import DELIVERIES, EXTERNAL, HERE
from tikitaka.authz import Role
from tikitaka.scheduling.graph import NodeStatus

NODE_STATES = [status.value for status in NodeStatus]
ROLES = [role.value for role in Role]


class OrganizationShape(Shape):
    id = serializers.UUIDField()
    name = serializers.CharField()
    paused_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class TeamShape(Shape):
    id = serializers.UUIDField()
    organization = serializers.UUIDField(source="organization_id")
    name = serializers.CharField()
    description = serializers.CharField()
    work_areas = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    width = serializers.IntegerField()
    paused_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


@extend_schema_serializer(
    examples=[OpenApiExample("A team", value={"organization": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Web"})]
)
class NewTeam(Strict):
    organization = serializers.UUIDField()
    name = serializers.CharField(max_length=80)
    description = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    work_areas = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(max_length=512), max_length=64),
        required=False,
        help_text="name → globs below code/; the usual seven where it is left out",
    )
    width = serializers.IntegerField(required=False, min_value=1, max_value=8)


class MemberShape(Shape):
    """Somebody's one role in an organization."""

    id = serializers.UUIDField()
    organization = serializers.UUIDField(source="organization_id")
    user = serializers.UUIDField(source="user_id")
    name = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=ROLES)
    created_at = serializers.DateTimeField()


class BudgetShape(Shape):
    """What an organization, a team of it or a task may spend, and has spent since `since`. Null is no limit."""

    id = serializers.UUIDField()
    organization = serializers.UUIDField(source="organization_id")
    team = serializers.UUIDField(source="team_id", allow_null=True)
    task = serializers.UUIDField(source="task_id", allow_null=True)
    attempts_max = serializers.IntegerField(allow_null=True)
    tokens_max = serializers.IntegerField(allow_null=True)
    cost_micros_max = serializers.IntegerField(allow_null=True, help_text="millionths of the installation's currency")
    attempts = serializers.IntegerField()
    tokens = serializers.IntegerField()
    cost_micros = serializers.IntegerField()
    monthly = serializers.BooleanField(help_text="begins anew with every month (UTC)")
    since = serializers.DateTimeField()
    exhausted = serializers.CharField(help_text="why nothing more begins; empty while something may")


class AgentShape(Shape):
    id = serializers.UUIDField()
    team = serializers.UUIDField(source="team_id")
    position = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField()
    instructions = serializers.CharField()
    runtime = serializers.CharField()
    remembers = serializers.BooleanField()
    workspace = serializers.ChoiceField(choices=DELIVERIES, source="workspace.delivery")
    retired_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "An agent that somebody else runs",
            value={"name": "Backend", "description": "builds server endpoints", "runtime": "external"},
        )
    ]
)
class NewAgent(Strict):
    name = serializers.CharField(max_length=80)
    description = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    instructions = serializers.CharField(
        max_length=10_000, required=False, allow_blank=True, default="", trim_whitespace=False
    )
    runtime = serializers.ChoiceField(
        choices=[EXTERNAL], default=EXTERNAL, help_text="whose program runs here is set up by whoever runs the machine"
    )
    remembers = serializers.BooleanField(default=False)
    workspace = serializers.ChoiceField(
        choices=DELIVERIES,
        default=HERE,
        help_text="`remote`: its machine keeps a copy of its governed files, see `GET /agents/{agent}/workspace`",
    )


class AgentChange(Strict):
    description = serializers.CharField(max_length=500, allow_blank=True)
    instructions = serializers.CharField(max_length=10_000, allow_blank=True, trim_whitespace=False)


class TaskShape(Shape):
    id = serializers.UUIDField()
    team = serializers.UUIDField(source="team_id")
    prompt = serializers.CharField()
    status = serializers.ChoiceField(choices=TaskStatus.choices)
    plan_source = serializers.ChoiceField(choices=PlanSource.choices, allow_blank=True)
    plan_reasons = serializers.ListField(child=serializers.JSONField())
    plan_only = serializers.BooleanField()
    submitted_by = serializers.UUIDField(source="submitted_by_id", allow_null=True)
    submitted_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)
    cancel_requested_at = serializers.DateTimeField(allow_null=True)
    segment = serializers.UUIDField(source="segment_id", allow_null=True)
    pruned_at = serializers.DateTimeField(allow_null=True)


class Submission(TaskShape):
    looks_secret = serializers.BooleanField(help_text="the prompt holds what looks like a secret; agents see it")


class PlannedNode(Strict):
    agentIndex = serializers.IntegerField(min_value=1, max_value=64, help_text="place in the roster, from 1")  # noqa: N815
    instruction = serializers.CharField(max_length=10_000)
    dependsOn = serializers.ListField(  # noqa: N815
        child=serializers.IntegerField(min_value=1, max_value=64), required=False, default=list
    )
    workArea = serializers.CharField(max_length=64, required=False, default="general")  # noqa: N815
    writeIntent = serializers.ChoiceField(choices=["write", "read"], required=False, default="read")  # noqa: N815
    expectedOutput = serializers.CharField(max_length=2_000, required=False, allow_blank=True, default="")  # noqa: N815
    role = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "A prompt",
            value={"team": "01890a5d-ac96-774b-bcce-b302099a8057", "prompt": "Add a health check to the server."},
        )
    ]
)
class NewTask(Strict):
    team = serializers.UUIDField()
    prompt = serializers.CharField(max_length=50_000, trim_whitespace=False)
    plan = PlannedNode(many=True, required=False, help_text="a ready plan; a wrong one is refused whole")
    plan_only = serializers.BooleanField(default=False, help_text="stop after planning until the plan is approved")
    attempts_max = serializers.IntegerField(required=False, min_value=1, max_value=10**9)
    tokens_max = serializers.IntegerField(required=False, min_value=1, max_value=10**15)


class NodeShape(Shape):
    id = serializers.UUIDField()
    task = serializers.UUIDField(source="task_id")
    index = serializers.IntegerField()
    agent = serializers.UUIDField(source="agent_id")
    role = serializers.CharField()
    instruction = serializers.CharField()
    expected_output = serializers.CharField()
    work_area = serializers.CharField()
    writes = serializers.BooleanField()
    depends_on = serializers.ListField(child=serializers.IntegerField())
    status = serializers.ChoiceField(choices=NODE_STATES)
    blocked_by = serializers.UUIDField(source="blocked_by_id", allow_null=True)
    attempts = serializers.IntegerField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class AttemptShape(Shape):
    id = serializers.UUIDField()
    task = serializers.UUIDField(source="task_id")
    node = serializers.UUIDField(source="node_id")
    agent = serializers.UUIDField(source="agent_id")
    number = serializers.IntegerField()
    status = serializers.ChoiceField(choices=AttemptStatus.choices)
    output = serializers.CharField()
    error = serializers.CharField()
    error_detail = serializers.CharField()
    exit_code = serializers.IntegerField(allow_null=True)
    usage = serializers.DictField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class SpanShape(Shape):
    seq = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=SpanKind.choices)
    status = serializers.CharField()
    text = serializers.CharField()
    data = serializers.DictField()
    injected = serializers.BooleanField()
    findings = serializers.ListField(child=serializers.JSONField())
    at = serializers.DateTimeField()


class MessageShape(Shape):
    id = serializers.UUIDField()
    seq = serializers.IntegerField()
    task = serializers.UUIDField(source="task_id")
    author_kind = serializers.CharField()
    agent = serializers.UUIDField(source="agent_id", allow_null=True)
    node = serializers.UUIDField(source="node_id", allow_null=True)
    attempt = serializers.UUIDField(source="attempt_id", allow_null=True)
    text = serializers.CharField()
    injected = serializers.BooleanField()
    at = serializers.DateTimeField()


class ContextShape(Shape):
    """What an attempt was given, as it was saved before the attempt began."""

    attempt = serializers.UUIDField(source="attempt_id")
    strategy = serializers.CharField()
    from_seq_exclusive = serializers.IntegerField()
    to_seq_inclusive = serializers.IntegerField()
    injected_messages = serializers.ListField(child=serializers.CharField())
    deduplicated_messages = serializers.ListField(child=serializers.JSONField())
    dependency_nodes = serializers.ListField(child=serializers.CharField())
    available_notes = serializers.ListField(child=serializers.CharField())
    rendered = serializers.CharField()
    rendered_digest = serializers.CharField()
    created_at = serializers.DateTimeField()


class TeamQuery(Query):
    team = serializers.UUIDField(required=False)


class TaskQuery(TeamQuery):
    status = serializers.ChoiceField(choices=TaskStatus.choices, required=False)


class NewSpan(Strict):
    seq = serializers.IntegerField(
        min_value=1, max_value=PROGRESS_FROM - 1, help_text="a number that comes again replaces"
    )
    kind = serializers.ChoiceField(choices=SpanKind.choices)
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)
    status = serializers.CharField(max_length=12, default="completed")
    data = AnyJSON(required=False)
    at = serializers.DateTimeField(required=False)
