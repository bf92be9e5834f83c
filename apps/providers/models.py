"""Vectors that have been computed once, and requests for more. Two models never meet: the key holds their digest."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from apps.ledger.ids import new_id


class VectorCache(models.Model):
    """One unit vector as float32 bytes, by model digest and text digest."""

    id = models.BigAutoField(primary_key=True)
    model_digest = models.CharField(max_length=64)
    text_digest = models.CharField(max_length=64)
    vector = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model_digest", "text_digest"], name="providers_one_vector_per_text")
        ]

    def __str__(self) -> str:
        return self.text_digest


class EmbedRequest(models.Model):
    """Texts that a process without an encoder waits for; emptied when they are encoded, deleted soon after."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    model_digest = models.CharField(max_length=64)
    texts = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    done_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.pk)
