"""Segments and their flushes, notes with every agent's verdict, review and landings."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.accounts.models import Organization, User
from apps.ledger.ids import new_id
from apps.tasks.models import Attempt, Span, Task
from apps.teams.models import Agent, Team
from tikitaka.notes.contract import Severity
from tikitaka.review.states import NoteStatus


class SegmentStatus(models.TextChoices):
    OPEN = "open"
    CLOSED = "closed"


class CloseReason(models.TextChoices):
    TOPIC_SHIFT = "topic_shift"
    SIZE_CAP = "size_cap"
    IDLE = "idle"
    BY_HAND = "by_hand"


class FlushStatus(models.TextChoices):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


class LandingStatus(models.TextChoices):
    INTENDED = "intended"
    LANDED = "landed"
    REMOVED = "removed"
    FAILED = "failed"
    DRIFTED = "drifted"


class FileKind(models.TextChoices):
    """Whose file it is: rendered whole by us, a skill that we created, or a skill that a person wrote."""

    INSTRUCTIONS = "instructions"
    OWN_SKILL = "own_skill"
    FOREIGN_SKILL = "foreign_skill"


class Segment(models.Model):
    """A thread of work: the tasks whose `segment_id` names it. At most one is open in a team."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="segments")
    status = models.CharField(max_length=8, choices=SegmentStatus.choices, default=SegmentStatus.OPEN)
    close_reason = models.CharField(max_length=16, choices=CloseReason.choices, blank=True)
    signal = models.CharField(max_length=8, blank=True)
    value_bp = models.IntegerField(null=True)
    threshold_bp = models.IntegerField(null=True)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team"], condition=Q(status="open"), name="memory_one_open_segment"),
            models.CheckConstraint(condition=Q(status__in=SegmentStatus.values), name="memory_segment_status"),
        ]
        indexes = [models.Index(fields=["organization", "id"], name="memory_segment_page")]

    def __str__(self) -> str:
        return str(self.pk)


class Flush(models.Model):
    """One distillation of a segment: the nodes that it covers, its attempts, the raw reply that was accepted."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    segment = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="flushes")
    ordinal = models.PositiveSmallIntegerField()
    final = models.BooleanField(default=True)
    status = models.CharField(max_length=12, choices=FlushStatus.choices, default=FlushStatus.WAITING)
    nodes = models.JSONField(default=list, help_text="ids of the nodes covered, in order of execution")
    extractor = models.CharField(max_length=32, blank=True)
    attempts = models.JSONField(default=list, help_text="every counted attempt with outcome and tokens")
    claim = models.PositiveIntegerField(default=0, help_text="fencing number of whoever works on it")
    claimed_until = models.DateTimeField(null=True)
    reply = models.JSONField(null=True)
    reason = models.CharField(max_length=32, blank=True)
    dropped = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "flushes"
        constraints = [
            models.UniqueConstraint(fields=["segment", "ordinal"], name="memory_flush_numbered_once"),
            models.UniqueConstraint(fields=["segment"], condition=Q(final=True), name="memory_one_final_flush"),
            models.CheckConstraint(condition=Q(status__in=FlushStatus.values), name="memory_flush_status"),
        ]

    def __str__(self) -> str:
        return f"{self.segment_id}/{self.ordinal}"


class Note(models.Model):
    """A durable statement. Its text is redacted before it is stored; `version` grows with every change."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="notes")
    segment = models.ForeignKey(Segment, null=True, on_delete=models.PROTECT, related_name="notes")
    flush = models.ForeignKey(Flush, null=True, on_delete=models.PROTECT, related_name="notes")
    ordinal = models.PositiveSmallIntegerField(default=0)
    source = models.CharField(
        max_length=16, help_text="extracted, sentence (verbatim, without a model), proposed (by an agent), or person"
    )
    content = models.TextField()
    description = models.CharField(max_length=300)
    rationale = models.TextField(blank=True)
    skill_key = models.CharField(max_length=64)
    severity = models.CharField(max_length=8, choices=[(s.value, s.value) for s in Severity])
    status = models.CharField(max_length=12, choices=[(s.value, s.value) for s in NoteStatus], default="candidate")
    version = models.PositiveIntegerField(default=1)
    content_digest = models.CharField(max_length=64, blank=True)
    review_reasons = models.JSONField(default=list)
    findings = models.JSONField(default=list)
    redacted = models.BooleanField(default=False)
    quarantined = models.BooleanField(default=False)
    audience_words = models.BooleanField(default=False)
    possible_update_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    cited_attempts = models.ManyToManyField(Attempt, related_name="+", blank=True)
    cited_spans = models.ManyToManyField(Span, related_name="+", blank=True)
    submitters = models.JSONField(default=list, help_text="ids of the people who submitted the tasks it came from")
    written_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    edited_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    decided_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    policy_digest = models.CharField(max_length=64)
    calibration = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    activated_at = models.DateTimeField(null=True)
    landing_claim = models.PositiveIntegerField(default=0, help_text="fencing number of whoever lands it")
    landing_until = models.DateTimeField(null=True, help_text="until when nobody else lands it")
    landing_fault = models.CharField(max_length=64, blank=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["flush", "ordinal"], name="memory_note_once_per_flush"),
            models.CheckConstraint(condition=Q(status__in=[s.value for s in NoteStatus]), name="memory_note_status"),
        ]
        indexes = [
            models.Index(fields=["team", "status"], name="memory_note_by_team_status"),
            models.Index(fields=["organization", "id"], name="memory_note_page"),
        ]

    def __str__(self) -> str:
        return self.skill_key


class Recipient(models.Model):
    """One agent's verdict on one note: granted, or withheld with a named reason. Every active agent has a row."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="recipients")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    verdict = models.CharField(max_length=8, choices=[("granted", "granted"), ("withheld", "withheld")])
    reason = models.CharField(max_length=32, blank=True)
    match_kind = models.CharField(max_length=12, blank=True)
    score_bp = models.IntegerField(null=True)
    threshold_bp = models.IntegerField(null=True)
    placement = models.CharField(max_length=12, blank=True)
    placement_key = models.CharField(max_length=64, blank=True)
    placement_score_bp = models.IntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["note", "agent"], name="memory_one_verdict_per_agent"),
            models.CheckConstraint(
                condition=(Q(verdict="granted") & Q(reason="")) | (Q(verdict="withheld") & ~Q(reason="")),
                name="memory_withheld_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.verdict}"


class ReviewItem(models.Model):
    """A version of a note that waits for a person."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="review_items")
    note_version = models.PositiveIntegerField()
    reasons = models.JSONField()
    opened_at = models.DateTimeField()
    due_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["note"], condition=Q(closed_at=None), name="memory_one_open_review_item"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class Decision(models.Model):
    """What a person said about one version of a note, and how they had proved who they are."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    note = models.ForeignKey(Note, on_delete=models.PROTECT, related_name="decisions")
    item = models.ForeignKey(ReviewItem, null=True, on_delete=models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=8)
    reviewer = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    authentication = models.JSONField(default=dict)
    content_digest = models.CharField(max_length=64)
    words = models.TextField(blank=True)
    before = models.JSONField()
    after = models.JSONField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.verdict} by {self.reviewer_id}"


class Landing(models.Model):
    """One note in one file of one agent's workspace; the row is kept when the block is gone."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    note = models.ForeignKey(Note, on_delete=models.PROTECT, related_name="landings")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="landings")
    file = models.CharField(max_length=255, help_text="path inside the workspace")
    kind = models.CharField(max_length=16, choices=FileKind.choices)
    block_digest = models.CharField(max_length=64)
    status = models.CharField(max_length=12, choices=LandingStatus.choices, default=LandingStatus.INTENDED)
    fault = models.CharField(max_length=64, blank=True)
    intended_at = models.DateTimeField()
    remove_requested_at = models.DateTimeField(null=True)
    landed_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["note", "agent"],
                condition=Q(status__in=["intended", "landed", "drifted"]),
                name="memory_one_live_landing",
            ),
            models.CheckConstraint(condition=Q(status__in=LandingStatus.values), name="memory_landing_status"),
        ]
        indexes = [
            models.Index(fields=["agent", "status"], name="memory_landing_by_agent"),
            models.Index(fields=["organization", "id"], name="memory_landing_page"),
        ]

    def __str__(self) -> str:
        return self.file


class GovernedFile(models.Model):
    """A file that we write in a workspace, with the digest of what we last wrote (empty in a person's skill)."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="governed_files")
    file = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=FileKind.choices)
    digest = models.CharField(max_length=64, blank=True)
    written_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "file"], name="memory_one_row_per_file")]

    def __str__(self) -> str:
        return self.file


class RemoteFile(models.Model):
    """What the agent's own machine said last of a governed file: the digest of it there, empty for unreadable."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    file = models.CharField(max_length=255)
    digest = models.CharField(max_length=64, blank=True)
    confirmed_at = models.DateTimeField(help_text="when the machine said it last")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "file"], name="memory_one_remote_row_per_file")]

    def __str__(self) -> str:
        return f"{self.file} of {self.agent_id}"


class SkillCatalogue(models.Model):
    """The skills that an agent's host saw in its workspace, for whoever places a note elsewhere."""

    agent = models.OneToOneField(Agent, primary_key=True, on_delete=models.PROTECT, related_name="+")
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    skills = models.JSONField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"skills of {self.agent_id}"


def tasks_of(segment: Segment) -> models.QuerySet[Task]:
    """The tasks that a segment owns, in the order of the team's log."""
    return Task.objects.filter(segment_id=segment.pk).order_by("first_seq")
