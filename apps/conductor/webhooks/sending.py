"""From deliveries to receivers: claimed by rows, sent without a transaction, settled under the claim's own number.

A worker that dies between sending and saving leaves a claim that runs out; the message is then sent once more under
the same id. At least once, never silently lost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from cryptography.exceptions import InvalidTag
from django.conf import settings
from django.db.models import F

from apps.conductor.incidents import close_cured, open_incident
from apps.conductor.models import IncidentKind, WebhookDelivery, WebhookEndpoint
from apps.conductor.webhooks.reading import read_ledger
from apps.conductor.webhooks.secrets import secrets_of
from apps.conductor.webhooks.selectors import live_endpoints, rested, waiting_deliveries
from apps.conductor.webhooks.transport import Resolver, Sent, post, resolve
from apps.ledger import clock
from apps.ledger.services import recording
from tikitaka.ledger.events import WebhookSwitchedOff
from tikitaka.webhooks.events import TEST
from tikitaka.webhooks.signing import headers
from tikitaka.webhooks.trying import ATTEMPTS_MAX, GONE, SendFault, rest_after, wait_after

_LEASE = timedelta(seconds=120)  # longer than looking up a name and an attempt together
_ROUND_S = 30.0  # after which a worker turns to something else; the next sweep goes on


def deliver(endpoint: UUID, *, resolver: Resolver = resolve) -> None:
    """The job: reads what is new and sends what is due. Coming twice or late changes nothing."""
    if not WebhookEndpoint.objects.filter(pk=endpoint, active=True).exists():
        return
    read_ledger(endpoint)
    lease = _claim_endpoint(endpoint)
    if lease is None:
        return
    until = time.monotonic() + _ROUND_S
    _expire(endpoint)
    while time.monotonic() < until and (delivery := _next_due(endpoint)) is not None:
        lease = _renew(endpoint, lease)
        if lease is None:
            return
        if not _attempt(delivery, lease, resolver):
            return
    WebhookEndpoint.objects.filter(pk=endpoint, quiet_until=lease).update(quiet_until=None)


# --- claims


def _claim_endpoint(endpoint: UUID) -> datetime | None:
    """Until when this worker alone sends to the endpoint; None while another does or it is left alone."""
    now = clock.now()
    rows = WebhookEndpoint.objects.filter(rested(now), pk=endpoint, active=True)
    return now + _LEASE if rows.update(quiet_until=now + _LEASE) else None


def _renew(endpoint: UUID, lease: datetime) -> datetime | None:
    until = clock.now() + _LEASE
    mine = WebhookEndpoint.objects.filter(pk=endpoint, active=True, quiet_until=lease)
    return until if mine.update(quiet_until=until) else None


def _next_due(endpoint: UUID) -> WebhookDelivery | None:
    due = waiting_deliveries().filter(endpoint=endpoint, next_at__lte=clock.now())
    return due.order_by("next_at", "seq").select_related("endpoint").first()


def _claim(delivery: WebhookDelivery) -> bool:
    """Counts the attempt before it is made. Whoever reads the row from now on sees an attempt that has no end yet."""
    as_seen = WebhookDelivery.objects.filter(
        pk=delivery.pk,
        attempts=delivery.attempts,
        next_at=delivery.next_at,
        delivered_at=None,
        gave_up_at=None,
        endpoint__in=live_endpoints(),
    )
    claimed = as_seen.update(
        attempts=F("attempts") + 1, next_at=clock.now() + _LEASE, last_status=None, error=SendFault.INTERRUPTED.value
    )
    delivery.attempts += bool(claimed)
    return bool(claimed)


# --- one attempt


def _attempt(delivery: WebhookDelivery, lease: datetime, resolver: Resolver) -> bool:
    """False when the endpoint is to be left alone."""
    if delivery.attempts >= (1 if delivery.event == TEST else ATTEMPTS_MAX):
        _fail(delivery, lease, Sent(fault=SendFault.INTERRUPTED))  # its last worker died of it, or with it
        return False
    if not _claim(delivery):
        return True
    sent = _send(delivery, resolver)
    if sent.fault is None:
        _succeed(delivery, sent)
        return True
    _fail(delivery, lease, sent)
    return False


def _send(delivery: WebhookDelivery, resolver: Resolver) -> Sent:
    """No transaction is open here."""
    now = clock.now()
    try:
        secrets = secrets_of(delivery.endpoint, now)
    except InvalidTag:
        return Sent(fault=SendFault.NO_SECRET)
    body = delivery.body.encode()
    return post(
        delivery.endpoint.url,
        headers=headers(secrets, id=str(delivery.pk), timestamp=int(now.timestamp()), body=body),
        body=body,
        timeout_s=settings.TIKITAKA_POLICY.webhook_timeout_s,
        private=settings.TIKITAKA_WEBHOOK_PRIVATE,
        resolver=resolver,
    )


def _succeed(delivery: WebhookDelivery, sent: Sent) -> None:
    """Holds whoever has claimed it meanwhile: what has arrived has arrived."""
    with recording(delivery.organization_id):
        endpoint = _lock(delivery.endpoint_id)
        WebhookDelivery.objects.filter(pk=delivery.pk, delivered_at=None).update(
            delivered_at=clock.now(), gave_up_at=None, last_status=sent.status, error=""
        )
        if endpoint.failures:
            WebhookEndpoint.objects.filter(pk=endpoint.pk).update(failures=0)
        _cured(endpoint)


def _lock(endpoint: UUID) -> WebhookEndpoint:
    """The endpoint first, then its deliveries: everybody locks in this order."""
    return WebhookEndpoint.objects.select_for_update().get(pk=endpoint)


def _fail(delivery: WebhookDelivery, lease: datetime, sent: Sent) -> None:
    now = clock.now()
    age = (now - delivery.waiting_since).total_seconds()
    wait = wait_after(event=delivery.event, attempts=delivery.attempts, age_s=age, policy=settings.TIKITAKA_POLICY)
    outcome = {"last_status": sent.status, "error": sent.fault.value if sent.fault else ""}
    ends = _Ending.of(wait, now)
    with recording(delivery.organization_id) as ledger:
        endpoint = _lock(delivery.endpoint_id)
        mine = WebhookDelivery.objects.filter(
            pk=delivery.pk, attempts=delivery.attempts, delivered_at=None, gave_up_at=None
        )
        changed = mine.update(**outcome, next_at=ends.next_at, gave_up_at=ends.gave_up_at)
        WebhookEndpoint.objects.filter(pk=endpoint.pk, quiet_until=lease).update(
            failures=endpoint.failures + 1, quiet_until=now + timedelta(seconds=rest_after(endpoint.failures + 1))
        )
        if sent.status == GONE and _switch_off(endpoint):
            ledger.record(WebhookSwitchedOff(endpoint=endpoint.pk, reason="gone"))
            _report(endpoint, "the receiver answered 410: it is gone, and the endpoint is switched off")
        elif changed and wait is None and delivery.event != TEST:
            _report(endpoint, f"{delivery.event} was given up after {delivery.attempts} attempts: {_words(sent)}")


@dataclass(frozen=True, slots=True)
class _Ending:
    next_at: datetime
    gave_up_at: datetime | None

    @classmethod
    def of(cls, wait: int | None, now: datetime) -> _Ending:
        return cls(now, now) if wait is None else cls(now + timedelta(seconds=wait), None)


def _switch_off(endpoint: WebhookEndpoint) -> bool:
    rows = WebhookEndpoint.objects.filter(pk=endpoint.pk, active=True)
    return bool(rows.update(active=False, disabled_reason="gone"))


def _expire(endpoint: UUID) -> None:
    """Gives up what has waited too long behind others, so that a receiver that is away does not leave a mountain."""
    now = clock.now()
    before = now - timedelta(seconds=settings.TIKITAKA_POLICY.webhook_life_s)
    old = waiting_deliveries().filter(endpoint=endpoint, waiting_since__lte=before)
    first = old.first()
    if first is None:
        return
    with recording(first.organization_id):
        row = _lock(endpoint)
        count = WebhookDelivery.objects.filter(pk__in=old.values("pk")).update(
            gave_up_at=now, error=SendFault.EXPIRED.value
        )
        if count:
            _report(row, f"{count} events were given up: they had waited too long")


# --- the incident


def _report(endpoint: WebhookEndpoint, detail: str) -> None:
    open_incident(
        organization=endpoint.organization_id,
        team=None,
        kind=IncidentKind.WEBHOOK_FAILING,
        subject=incident_subject(endpoint.pk),
        detail=detail,
    )


def _cured(endpoint: WebhookEndpoint) -> None:
    close_cured(
        organization=endpoint.organization_id,
        kind=IncidentKind.WEBHOOK_FAILING,
        subject=incident_subject(endpoint.pk),
    )


def incident_subject(endpoint: UUID) -> str:
    """What the incident of an endpoint is about."""
    return f"webhook {endpoint}"


def _words(sent: Sent) -> str:
    return f"{sent.fault.value if sent.fault else ''} {sent.status or ''}".strip()
