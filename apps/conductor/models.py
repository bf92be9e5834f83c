"""What the story needs beside its steps: incidents, the sources of imported work, and what watching keeps."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.db import models
from django.db.models import Q

from apps.accounts.models import Organization, User
from apps.ledger.ids import new_id
from apps.tasks.models import Attempt
from apps.teams.models import Agent, Team
from tikitaka.hosts import HOST_CHARS_MAX
from tikitaka.webhooks.addresses import URL_CHARS_MAX


class IncidentKind(models.TextChoices):
    DRIFT = "drift"
    LANDING_FAILED = "landing_failed"
    STUCK_WORK = "stuck_work"
    BROKEN_CHAIN = "broken_chain"
    OUTSIDE_AREA = "outside_area"
    UNKNOWN_SKILL = "unknown_skill"
    OUT_OF_BUDGET = "out_of_budget"
    WEBHOOK_FAILING = "webhook_failing"


class Incident(models.Model):
    """Something that a person must look at and that is not a note."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, null=True, on_delete=models.PROTECT, related_name="incidents")
    kind = models.CharField(max_length=24, choices=IncidentKind.choices)
    subject = models.CharField(max_length=255, help_text="kind and id of what it is about")
    detail = models.TextField(blank=True)
    opened_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "kind", "subject"],
                condition=Q(closed_at=None),
                name="conductor_one_open_incident",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class ImportSource(models.Model):
    """A session recorded elsewhere; output and session file of one session are one source."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    thread_id = models.CharField(max_length=200)
    forms = models.JSONField(default=list)
    damaged_lines = models.JSONField(default=list)
    imported_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "thread_id"], name="conductor_one_import_per_thread")]

    def __str__(self) -> str:
        return self.thread_id


class ToldTurn(models.Model):
    """A turn as one recording told it, and the attempt that it was taken for.

    Which turn is which is found out once: told the same way again, it is the same attempt and there is nothing to add.
    `key` is a digest of what may be stored of it; it outlives the words, as the digests in the ledger do.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    source = models.ForeignKey(ImportSource, on_delete=models.CASCADE, related_name="turns")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "key"], name="conductor_one_attempt_per_told_turn")]

    def __str__(self) -> str:
        return self.key


class LogCheck(models.Model):
    """When a log was last verified and what came of it; the time grows old where nobody reconciles."""

    log = models.UUIDField(primary_key=True, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    checked_at = models.DateTimeField()
    size = models.PositiveBigIntegerField()
    valid = models.BooleanField()

    def __str__(self) -> str:
        return f"{self.log}: {'valid' if self.valid else 'broken'}"


class HostSeen(models.Model):
    """When somebody last said that work of the teams on a host is done there."""

    name = models.CharField(primary_key=True, max_length=HOST_CHARS_MAX)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class RefusedCalls(models.Model):
    """How many callers a door turned away that it could not name; named ones are denials in the ledger."""

    door = models.CharField(primary_key=True, max_length=16)
    count = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.door}: {self.count}"


class WebhookEndpoint(models.Model):
    """Where events of an organization are sent. The cursor is the place in the ledger up to which it has read.

    Nobody sends to it before `quiet_until`: a worker is at it until then, or it failed and is left alone.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=URL_CHARS_MAX)
    events = models.JSONField()
    all_teams = models.BooleanField(default=True, help_text="also teams that are made later")
    teams = models.ManyToManyField(Team, related_name="+", blank=True)
    secret = models.BinaryField()
    old_secret = models.BinaryField(default=bytes)
    old_secret_until = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    active = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=24, blank=True, default="")
    cursor_log = models.UUIDField(null=True, editable=False)
    cursor_seq = models.PositiveBigIntegerField(default=0, editable=False)
    failures = models.PositiveIntegerField(default=0, help_text="attempts in a row that failed")
    quiet_until = models.DateTimeField(null=True, blank=True, editable=False)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(active=False) | Q(removed_at=None, disabled_reason=""), name="conductor_webhook_on_or_off"
            ),
            models.CheckConstraint(
                condition=Q(removed_at=None) | Q(secret=b"", old_secret=b""), name="conductor_webhook_secret_goes"
            ),
        ]

    def __str__(self) -> str:
        return self.host

    @property
    def host(self) -> str:
        """All of the address that is shown: path and query may hold what only the receiver should know."""
        return urlsplit(self.url).netloc


class WebhookDelivery(models.Model):
    """One event for one endpoint, and what became of it. Its id is the id of the message, however often it is sent."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.PROTECT, related_name="deliveries")
    event = models.CharField(max_length=24)
    entry = models.UUIDField(null=True, blank=True, help_text="the entry of the ledger that it tells of")
    seq = models.PositiveBigIntegerField(null=True, blank=True)
    body = models.TextField()
    created_at = models.DateTimeField()
    waiting_since = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField()
    last_status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=24, blank=True, default="")
    delivered_at = models.DateTimeField(null=True, blank=True)
    gave_up_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "entry"], name="conductor_one_delivery_per_entry"),
            models.CheckConstraint(
                condition=Q(delivered_at=None) | Q(gave_up_at=None), name="conductor_delivered_or_given_up"
            ),
            models.CheckConstraint(
                condition=Q(entry=None, seq=None) | Q(entry__isnull=False, seq__isnull=False),
                name="conductor_delivery_of_entry",
            ),
        ]
        indexes = [
            models.Index(
                fields=["endpoint", "next_at"],
                condition=Q(delivered_at=None, gave_up_at=None),
                name="conductor_delivery_waiting",
            ),
            models.Index(fields=["created_at"], name="conductor_delivery_by_age"),
            models.Index(fields=["organization", "id"], name="conductor_delivery_page"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.id}"
