"""Tasks and their graphs, attempts and spans, the team's log, leases and locks."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.accounts.models import Organization, User
from apps.ledger.ids import new_id
from apps.teams.models import Agent, Team
from tikitaka.scheduling.graph import NodeStatus


class TaskStatus(models.TextChoices):
    QUEUED = "queued"
    PLANNING = "planning"
    PLANNED = "planned"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PlanSource(models.TextChoices):
    MODEL = "model"
    FALLBACK = "fallback"
    CALLER = "caller"
    IMPORT = "import"


class AttemptStatus(models.TextChoices):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class SpanKind(models.TextChoices):
    REASONING = "reasoning"
    COMMAND = "command"
    FILE_CHANGE = "file_change"
    TOOL_CALL = "tool_call"
    AGENT_MESSAGE = "agent_message"
    PROGRESS = "progress"
    ERROR = "error"


class AuthorKind(models.TextChoices):
    PERSON = "person"
    AGENT = "agent"


def _one_of(name: str, choices: type[models.TextChoices]) -> Q:
    return Q(**{f"{name}__in": choices.values})


class TeamScheduler(models.Model):
    """The row that whoever claims work or speaks in the team's log locks first: last message number, last fence."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, primary_key=True, related_name="scheduler")
    last_seq = models.PositiveBigIntegerField(default=0)
    last_fence = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.pk)


class Task(models.Model):
    """One prompt to a team. `segment_id` names the memory segment that owns it, assigned by a job."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="tasks")
    prompt = models.TextField()
    status = models.CharField(max_length=12, choices=TaskStatus.choices, default=TaskStatus.QUEUED)
    plan_source = models.CharField(max_length=12, choices=PlanSource.choices, blank=True)
    plan_reasons = models.JSONField(default=list)
    plan_only = models.BooleanField(default=False)
    submitted_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    submitted_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    planning_until = models.DateTimeField(null=True, help_text="when a planner that is still silent counts as dead")
    first_seq = models.PositiveBigIntegerField(help_text="number of the message that carries the prompt")
    segment_id = models.UUIDField(null=True, db_index=True)
    source_id = models.UUIDField(null=True, help_text="the imported session that this task came from")
    pruned_at = models.DateTimeField(null=True, help_text="since when its spans, messages and contexts are not kept")
    pruning = models.BooleanField(default=False, db_default=False, help_text="some of them are still to be removed")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_one_of("status", TaskStatus), name="tasks_task_status"),
            models.UniqueConstraint(fields=["team", "first_seq"], name="tasks_one_task_per_message"),
        ]
        indexes = [
            models.Index(fields=["team", "status"], name="tasks_by_team_status"),
            models.Index(fields=["organization", "id"], name="tasks_page"),
            models.Index(fields=["settled_at"], condition=Q(pruned_at=None), name="tasks_not_pruned"),
            models.Index(fields=["pruned_at"], condition=Q(pruning=True), name="tasks_being_pruned"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class Budget(models.Model):
    """What an organization, a team or a task may spend, and has spent since `since`. Null is no limit.

    Costs are millionths of the installation's currency. `exhausted` names why nothing more begins.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, null=True, on_delete=models.PROTECT, related_name="+")
    task = models.OneToOneField(Task, null=True, on_delete=models.CASCADE, related_name="budget")
    attempts_max = models.PositiveBigIntegerField(null=True)
    tokens_max = models.PositiveBigIntegerField(null=True)
    cost_micros_max = models.PositiveBigIntegerField(null=True)
    attempts = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    cost_micros = models.PositiveBigIntegerField(default=0)
    monthly = models.BooleanField(default=False, help_text="begins anew with every month (UTC)")
    since = models.DateTimeField()
    exhausted = models.CharField(max_length=24, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization"], condition=Q(team=None, task=None), name="tasks_one_budget_per_organization"
            ),
            models.UniqueConstraint(fields=["team"], condition=Q(task=None), name="tasks_one_budget_per_team"),
            models.CheckConstraint(condition=Q(task=None) | Q(team__isnull=False), name="tasks_budget_has_one_scope"),
            models.CheckConstraint(
                condition=Q(attempts_max__isnull=False)
                | Q(tokens_max__isnull=False)
                | Q(cost_micros_max__isnull=False),
                name="tasks_budget_limits_something",
            ),
        ]

    def __str__(self) -> str:
        return f"budget of the {self.scope}"

    @property
    def scope(self) -> str:
        """What it limits, in one word."""
        return "task" if self.task_id else "team" if self.team_id else "organization"


class PlanNode(models.Model):
    """One node of a task's graph; `index` counts from 1, `depends_on` holds indexes of direct dependencies."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="nodes")
    index = models.PositiveSmallIntegerField()
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="nodes")
    role = models.CharField(max_length=60, blank=True)
    instruction = models.TextField()
    expected_output = models.CharField(max_length=300, blank=True)
    work_area = models.CharField(max_length=64)
    globs = models.JSONField(default=list)
    writes = models.BooleanField()
    depends_on = models.JSONField(default=list)
    status = models.CharField(max_length=12, choices=[(s.value, s.value) for s in NodeStatus], default="queued")
    blocked_by = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    attempts = models.PositiveSmallIntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    drift_bp = models.PositiveIntegerField(null=True, help_text="distance of its output to those before it")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "index"], name="tasks_one_node_per_index"),
            models.CheckConstraint(condition=Q(status__in=[s.value for s in NodeStatus]), name="tasks_node_status"),
        ]
        ordering = ["index"]

    def __str__(self) -> str:
        return f"{self.index}. {self.role}"


class Attempt(models.Model):
    """One execution of a node. Retries are rows of their own."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="attempts")
    node = models.ForeignKey(PlanNode, on_delete=models.CASCADE, related_name="attempt_set")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    number = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=12, choices=AttemptStatus.choices, default=AttemptStatus.RUNNING)
    fence = models.PositiveBigIntegerField()
    thread_id = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    output = models.TextField(blank=True)
    error = models.CharField(max_length=24, blank=True)
    error_detail = models.TextField(blank=True)
    exit_code = models.IntegerField(null=True)
    usage = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_one_of("status", AttemptStatus), name="tasks_attempt_status"),
            models.UniqueConstraint(
                fields=["node"], condition=Q(status="running"), name="tasks_one_running_attempt_per_node"
            ),
        ]
        indexes = [models.Index(fields=["node", "number"], name="tasks_attempt_by_node")]

    def __str__(self) -> str:
        return f"attempt {self.number}"


class Span(models.Model):
    """One trace event of an attempt, stored as it comes, redacted; `seq` counts from 1 inside the attempt."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="spans")
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=SpanKind.choices)
    status = models.CharField(max_length=12, default="completed")
    text = models.TextField()
    data = models.JSONField(default=dict)
    injected = models.BooleanField(default=False)
    findings = models.JSONField(default=list)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "seq"], name="tasks_one_span_per_seq")]

    def __str__(self) -> str:
        return f"{self.kind} {self.seq}"


class Message(models.Model):
    """One line of the team's log; numbers are gapless."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="messages")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="messages")
    seq = models.PositiveBigIntegerField()
    author_kind = models.CharField(max_length=8, choices=AuthorKind.choices)
    agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="+")
    node = models.ForeignKey(PlanNode, null=True, on_delete=models.SET_NULL, related_name="+")
    attempt = models.ForeignKey(Attempt, null=True, on_delete=models.SET_NULL, related_name="+")
    text = models.TextField()
    injected = models.BooleanField(default=False, help_text="came from instructions or environment, not from speech")
    findings = models.JSONField(default=list)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "seq"], name="tasks_message_numbered_once")]
        indexes = [models.Index(fields=["task", "seq"], name="tasks_message_by_task")]

    def __str__(self) -> str:
        return f"message {self.seq}"


class ThreadCursor(models.Model):
    """How far one runtime thread of one agent has been shown the log. A closed thread is never continued."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="cursors")
    thread_id = models.CharField(max_length=200)
    shown_to_seq = models.PositiveBigIntegerField()
    updated_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "thread_id"], name="tasks_one_cursor_per_thread")]

    def __str__(self) -> str:
        return self.thread_id


class AgentLease(models.Model):
    """Exclusive use of an agent by one attempt, until it ends or the lease expires."""

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, primary_key=True, related_name="lease")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="leases")
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="lease")
    fence = models.PositiveBigIntegerField()
    heartbeat_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return str(self.pk)


class TreeLock(models.Model):
    """A directory prefix of the team's code tree, held by one attempt as long as its lease."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="locks")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="locks")
    prefix = models.CharField(max_length=512)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "prefix"], name="tasks_one_holder_per_prefix")]

    def __str__(self) -> str:
        return self.prefix
