"""What is due. Every stage can be found by a query, so a lost wake-up costs time and nothing else."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.conductor.models import WebhookDelivery, WebhookEndpoint
from apps.ledger.selectors import Position, entries_from
from tikitaka.webhooks.events import chosen, entry_types


def live_endpoints() -> QuerySet[WebhookEndpoint]:
    """Those that something may be sent to."""
    return WebhookEndpoint.objects.filter(active=True)


def waiting_deliveries() -> QuerySet[WebhookDelivery]:
    """Neither delivered nor given up, and not held by a switch."""
    return WebhookDelivery.objects.filter(delivered_at=None, gave_up_at=None, endpoint__active=True)


def rested(now: datetime) -> Q:
    """No worker is at an endpoint, and it is not being left alone."""
    return Q(quiet_until=None) | Q(quiet_until__lte=now)


def due_endpoints(now: datetime) -> list[UUID]:
    """Endpoints with something to send or something unread."""
    due = waiting_deliveries().filter(endpoint=OuterRef("pk"), next_at__lte=now)
    rows = live_endpoints().filter(rested(now)).annotate(has_due=Exists(due)).order_by("pk")
    return [row.pk for row in rows if row.has_due or has_unread(row)]


def has_unread(endpoint: WebhookEndpoint) -> bool:
    """An entry of a type that the endpoint asks for lies behind its cursor."""
    return bool(entries_from(endpoint.organization_id, cursor_of(endpoint), types=types_of(endpoint), limit=1))


def types_of(endpoint: WebhookEndpoint) -> tuple[str, ...]:
    """The types of entries that an endpoint is told of."""
    return entry_types(chosen(endpoint.events))


def cursor_of(endpoint: WebhookEndpoint) -> Position | None:
    """Where an endpoint stands in the ledger."""
    return None if endpoint.cursor_log is None else Position(log=endpoint.cursor_log, seq=endpoint.cursor_seq)
