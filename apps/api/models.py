"""What the door itself keeps: the requests that must not be done twice."""

from __future__ import annotations

from django.db import models

from apps.ledger.ids import new_id


class IdempotencyKey(models.Model):
    """A key that a caller gave to a request, written in the transaction of its effect; the reply follows right after.

    `reply_status` is null between the two: the effect is there and its answer was lost.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    principal = models.CharField(max_length=64)
    key = models.CharField(max_length=128)
    request_digest = models.CharField(max_length=64)
    reply_status = models.PositiveSmallIntegerField(null=True)
    reply = models.JSONField(null=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["principal", "key"], name="api_one_request_per_key")]

    def __str__(self) -> str:
        return self.key
