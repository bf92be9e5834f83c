"""One log per organization and incarnation; entries are only ever inserted, see apps.ledger.triggers."""

from __future__ import annotations

import uuid

from django.db import models


class Log(models.Model):
    """The head of one chain: how long it is and where it ends."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization_id = models.UUIDField(db_index=True)
    incarnation = models.PositiveIntegerField(default=1)
    origin = models.CharField(max_length=200, unique=True)
    size = models.PositiveBigIntegerField(default=0)
    tip = models.CharField(max_length=64, default="0" * 64)
    last_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization_id", "incarnation"], name="ledger_one_log_per_incarnation"),
        ]

    def __str__(self) -> str:
        return self.origin


class Entry(models.Model):
    """`header` is the exact canonical text that was hashed; the other columns are copies, checked by verify."""

    id = models.UUIDField(primary_key=True, editable=False)
    log = models.ForeignKey(Log, on_delete=models.PROTECT, related_name="entries", db_index=False)  # (log, seq) serves
    seq = models.PositiveBigIntegerField()
    header = models.TextField()
    leaf = models.CharField(max_length=64)
    type = models.CharField(max_length=64)
    actor_id = models.CharField(max_length=64)
    subject_kind = models.CharField(max_length=32)
    subject_id = models.CharField(max_length=64)
    team_id = models.CharField(max_length=36, blank=True)
    recorded_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "entries"
        constraints = [models.UniqueConstraint(fields=["log", "seq"], name="ledger_entry_numbered_once")]
        indexes = [
            models.Index(fields=["log", "subject_id", "seq"], name="ledger_entry_by_subject"),
            models.Index(fields=["log", "type", "seq"], name="ledger_entry_by_type"),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class SubjectKey(models.Model):
    """The key under which one subject's personal text is sealed, wrapped; destroying it erases the text."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization_id = models.UUIDField()
    subject = models.CharField(max_length=64)
    wrapped = models.BinaryField(null=True)
    destroyed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization_id", "subject"], name="ledger_one_key_per_subject"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class SealedValue(models.Model):
    """Salt and value of one committed field, encrypted; not part of the chain and therefore erasable."""

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="sealed_values")
    field = models.CharField(max_length=32)
    ciphertext = models.BinaryField()
    key = models.ForeignKey(SubjectKey, on_delete=models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "field"], name="ledger_sealed_once")]

    def __str__(self) -> str:
        return self.field


class Denial(models.Model):
    """Counts repeated refusals, so that a caller who hammers a door makes one entry a minute and not thousands."""

    organization_id = models.UUIDField()
    principal = models.CharField(max_length=64)
    permission = models.CharField(max_length=64)
    object_id = models.UUIDField()
    minute = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization_id", "principal", "permission", "object_id"], name="ledger_one_denial_window"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.principal} {self.permission}"
