"""A refusal is evidence too: recorded after the rollback of what was refused, in a transaction of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import F

from apps.ledger.models import Denial
from apps.ledger.services.recording import aside, recording
from tikitaka.ledger.entries import Actor
from tikitaka.ledger.events import AccessDenied


def deny(organization: UUID, *, actor: Actor, permission: str, object_id: UUID, reasons: Sequence[str]) -> None:
    """Records a refusal: one entry per principal, permission, object and minute; the rest of the minute is counted.

    The count of a minute enters the log with the next entry for the same three.
    """
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    with aside(), recording(organization, actor=actor) as ledger:
        window, created = Denial.objects.select_for_update().get_or_create(
            organization_id=organization,
            principal=actor.id,
            permission=permission,
            object_id=object_id,
            defaults={"minute": minute},
        )
        if not created and window.minute == minute:
            Denial.objects.filter(pk=window.pk).update(count=F("count") + 1)
            return
        ledger.record(
            AccessDenied(
                object=object_id,
                permission=permission,
                reasons=tuple(reasons),
                count=1 if created else window.count,
            )
        )
        if not created:
            Denial.objects.filter(pk=window.pk).update(minute=minute, count=1)
