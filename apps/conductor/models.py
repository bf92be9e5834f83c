"""What the story needs beside its steps: incidents, the sources of imported work, and what watching keeps."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.accounts.models import Organization, User
from apps.ledger.ids import new_id
from apps.teams.models import Agent, Team
from tikitaka.hosts import HOST_CHARS_MAX


class IncidentKind(models.TextChoices):
    DRIFT = "drift"
    LANDING_FAILED = "landing_failed"
    STUCK_WORK = "stuck_work"
    BROKEN_CHAIN = "broken_chain"
    OUTSIDE_AREA = "outside_area"
    UNKNOWN_SKILL = "unknown_skill"
    OUT_OF_BUDGET = "out_of_budget"


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
