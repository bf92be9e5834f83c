"""The frozen record of what one attempt was given, saved before it starts."""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Organization
from apps.ledger.ids import new_id
from apps.tasks.models import Attempt


class ContextSnapshot(models.Model):
    """Bounds of the window, what stands in it, what was left out as already shown, and the rendered prompt."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="snapshot")
    strategy = models.CharField(max_length=16, default="window")
    from_seq_exclusive = models.PositiveBigIntegerField()
    to_seq_inclusive = models.PositiveBigIntegerField()
    injected_messages = models.JSONField()
    deduplicated_messages = models.JSONField()
    dependency_nodes = models.JSONField()
    available_notes = models.JSONField()
    rendered = models.TextField()
    rendered_digest = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.pk)
