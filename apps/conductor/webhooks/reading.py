"""From entries of the ledger to deliveries. The cursor and the rows it led to are saved together or not at all."""

from __future__ import annotations

from uuid import UUID

from apps.conductor.models import WebhookDelivery, WebhookEndpoint
from apps.conductor.webhooks.selectors import cursor_of, types_of
from apps.ledger import clock
from apps.ledger.selectors import entries_from, header
from apps.ledger.services import recording
from tikitaka.webhooks.events import Source, body_of, event_of

_ENTRIES_AT_ONCE = 200


def read_ledger(endpoint: UUID) -> int:
    """Makes a delivery of every new entry that an endpoint wants to know of; how many there were."""
    organization = WebhookEndpoint.objects.values_list("organization_id", flat=True).get(pk=endpoint)
    made, more = 0, True
    while more:
        with recording(organization):
            row = WebhookEndpoint.objects.select_for_update().get(pk=endpoint)
            if not row.active:
                return made
            count, more = read_batch(row)
        made += count
    return made


def read_batch(endpoint: WebhookEndpoint) -> tuple[int, bool]:
    """How many deliveries were made, and whether more may lie behind; call with the endpoint locked."""
    found = entries_from(
        endpoint.organization_id, cursor_of(endpoint), types=types_of(endpoint), limit=_ENTRIES_AT_ONCE
    )
    if not found:
        return 0, False
    teams = None if endpoint.all_teams else {str(team) for team in endpoint.teams.values_list("pk", flat=True)}
    now = clock.now()
    rows = [
        WebhookDelivery(
            organization_id=endpoint.organization_id,
            endpoint=endpoint,
            event=event_of(entry.type).value,
            entry=entry.pk,
            seq=entry.seq,
            body=body_of(
                Source(organization=endpoint.organization_id, entry=entry.pk, seq=entry.seq, header=header(entry))
            ),
            created_at=now,
            waiting_since=now,
            next_at=now,
        )
        for entry in found
        if teams is None or entry.team_id in teams
    ]
    WebhookDelivery.objects.bulk_create(rows, ignore_conflicts=True)
    endpoint.cursor_log, endpoint.cursor_seq = found[-1].log_id, found[-1].seq + 1
    endpoint.save(update_fields=["cursor_log", "cursor_seq"])
    return len(rows), len(found) == _ENTRIES_AT_ONCE
