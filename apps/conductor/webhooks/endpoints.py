"""What an owner or an operator does with endpoints."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings

from apps.accounts.models import Organization
from apps.accounts.services.authorize import authorize
from apps.conductor.incidents import close_cured
from apps.conductor.models import IncidentKind, WebhookDelivery, WebhookEndpoint
from apps.conductor.wake import wake
from apps.conductor.webhooks.reading import read_batch
from apps.conductor.webhooks.secrets import fresh_secret
from apps.conductor.webhooks.sending import incident_subject
from apps.conductor.webhooks.transport import Resolver, examine, resolve
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.selectors import end_of_log
from apps.ledger.services import recording
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal, PrincipalKind
from tikitaka.errors import Invalid, WrongState
from tikitaka.ledger.events import (
    WebhookChanged,
    WebhookCreated,
    WebhookRedelivered,
    WebhookRemoved,
    WebhookSecretRotated,
)
from tikitaka.webhooks.addresses import UrlFault
from tikitaka.webhooks.events import TEST, body_of_test, chosen
from tikitaka.webhooks.trying import SendFault


class EndpointRemoved(WrongState):
    """The endpoint has been removed."""

    code = "endpoint_removed"


class EndpointSwitchedOff(WrongState):
    """The endpoint is switched off; nothing is sent to it."""

    code = "endpoint_switched_off"


class TooManyEndpoints(WrongState):
    """The organization has as many endpoints as it may have; remove one first."""

    code = "too_many_endpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSecret:
    """An endpoint and its secret, which can never be read again."""

    endpoint: WebhookEndpoint
    secret: str


def create_endpoint(
    *,
    actor: Principal,
    organization: Organization,
    url: str,
    events: Iterable[str],
    teams: Collection[UUID] | None = None,
    resolver: Resolver = resolve,
) -> NewSecret:
    """A new endpoint for what happens from now on, in all teams of the organization or in some of them."""
    authorize(actor, Permission.TEAMS_MANAGE, organization, organization=organization.pk, object_id=organization.pk)

    wanted = chosen(list(events))
    _require_allowed(url, resolver)
    endpoint = WebhookEndpoint(
        id=new_id(),
        organization=organization,
        url=url,
        events=sorted(wanted),
        all_teams=teams is None,
        created_by_id=actor.id if actor.kind is PrincipalKind.USER else None,
        created_at=clock.now(),
    )
    with recording(organization.pk, actor=actor.actor) as ledger:
        own = _own_teams(organization, teams)
        _require_room(organization)

        secret, endpoint.secret = fresh_secret(endpoint)
        _stand_at_the_end(endpoint)
        endpoint.save(force_insert=True)
        endpoint.teams.set(own)
        ledger.record(
            WebhookCreated(
                endpoint=endpoint.pk, host=_host(url), events=tuple(endpoint.events), teams=_told(endpoint, own)
            )
        )
    return NewSecret(endpoint=endpoint, secret=secret)


def change_endpoint(
    *,
    actor: Principal,
    endpoint: WebhookEndpoint,
    url: str,
    events: Iterable[str],
    teams: Collection[UUID] | None = None,
    active: bool = True,
    resolver: Resolver = resolve,
) -> WebhookEndpoint:
    """Another address, other events, other teams, or the switch. What happened before is told as it was chosen then.

    Switched off, nothing is lost: switched on again it goes on where it stood.
    """
    _authorize(actor, endpoint)

    wanted = chosen(list(events))
    if url != endpoint.url or active:
        _require_allowed(url, resolver)
    with recording(endpoint.organization_id, actor=actor.actor) as ledger:
        locked = _locked(endpoint)
        own = _own_teams(locked.organization, teams)
        was_active = locked.active
        if was_active:
            while read_batch(locked)[1]:
                pass
            _stand_at_the_end(locked)

        locked.url, locked.events = url, sorted(wanted)
        locked.all_teams = teams is None
        locked.active, locked.disabled_reason = active, "" if active or was_active else locked.disabled_reason
        locked.failures, locked.quiet_until = 0, None
        locked.save()
        locked.teams.set(own)
        if active and not was_active:
            _wait_anew(locked)
        ledger.record(_changed(locked, own))
    wake("webhooks", locked.pk)
    return locked


def rotate_secret(*, actor: Principal, endpoint: WebhookEndpoint, at_once: bool = False) -> NewSecret:
    """A new secret. The old one signs beside it for a while, unless somebody else has it: then it ends at once."""
    _authorize(actor, endpoint)

    overlap = 0 if at_once else settings.TIKITAKA_POLICY.webhook_overlap_s
    with recording(endpoint.organization_id, actor=actor.actor) as ledger:
        locked = _locked(endpoint)

        locked.old_secret = locked.secret if overlap else b""
        locked.old_secret_until = clock.now() + timedelta(seconds=overlap) if overlap else None
        secret, locked.secret = fresh_secret(locked)
        locked.save(update_fields=["secret", "old_secret", "old_secret_until"])
        ledger.record(WebhookSecretRotated(endpoint=locked.pk))
    return NewSecret(endpoint=locked, secret=secret)


def remove_endpoint(*, actor: Principal, endpoint: WebhookEndpoint) -> None:
    """Nothing more is sent, and its secrets are gone. The log of its deliveries stays for its time."""
    _authorize(actor, endpoint)

    now = clock.now()
    with recording(endpoint.organization_id, actor=actor.actor) as ledger:
        locked = _locked(endpoint)

        locked.active, locked.removed_at, locked.disabled_reason = False, now, ""
        locked.secret, locked.old_secret, locked.old_secret_until = b"", b"", None
        locked.save()
        locked.deliveries.filter(delivered_at=None, gave_up_at=None).update(
            gave_up_at=now, error=SendFault.REMOVED.value
        )
        ledger.record(WebhookRemoved(endpoint=locked.pk))
        close_cured(
            organization=locked.organization_id,
            kind=IncidentKind.WEBHOOK_FAILING,
            subject=incident_subject(locked.pk),
        )


def send_test(*, actor: Principal, endpoint: WebhookEndpoint) -> WebhookDelivery:
    """An event that stands for nothing, sent once, soon."""
    _authorize(actor, endpoint)

    now = clock.now()
    with recording(endpoint.organization_id, actor=actor.actor):
        locked = _locked_and_active(endpoint)

        delivery = WebhookDelivery.objects.create(
            id=new_id(),
            organization_id=locked.organization_id,
            endpoint=locked,
            event=TEST,
            body=body_of_test(organization=locked.organization_id, endpoint=locked.pk, now=now),
            created_at=now,
            waiting_since=now,
            next_at=now,
        )
        WebhookEndpoint.objects.filter(pk=locked.pk).update(quiet_until=None)
    wake("webhooks", locked.pk)
    return delivery


def redeliver(*, actor: Principal, delivery: WebhookDelivery) -> None:
    """Sends an event of the log once more, under the same id, with all its attempts."""
    endpoint = delivery.endpoint
    _authorize(actor, endpoint)

    now = clock.now()
    with recording(endpoint.organization_id, actor=actor.actor) as ledger:
        locked = _locked_and_active(endpoint)

        WebhookDelivery.objects.filter(pk=delivery.pk).update(
            attempts=0, next_at=now, waiting_since=now, delivered_at=None, gave_up_at=None, last_status=None, error=""
        )
        WebhookEndpoint.objects.filter(pk=locked.pk).update(quiet_until=None)
        ledger.record(WebhookRedelivered(endpoint=locked.pk, delivery=delivery.pk))
    wake("webhooks", locked.pk)


# --- what they share


def _authorize(actor: Principal, endpoint: WebhookEndpoint) -> None:
    authorize(
        actor,
        Permission.TEAMS_MANAGE,
        endpoint.organization,
        organization=endpoint.organization_id,
        object_id=endpoint.pk,
    )


def _locked(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    row = WebhookEndpoint.objects.select_for_update().get(pk=endpoint.pk)
    if row.removed_at is not None:
        raise EndpointRemoved
    return row


def _locked_and_active(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    row = _locked(endpoint)
    if not row.active:
        raise EndpointSwitchedOff
    return row


def _require_allowed(url: str, resolver: Resolver) -> None:
    """Raises Invalid with the named reason. A name may be looked up, so no transaction is open here."""
    found = examine(url, private=settings.TIKITAKA_WEBHOOK_PRIVATE, resolver=resolver)
    if isinstance(found, UrlFault):
        raise Invalid(url=found.value)


def _own_teams(organization: Organization, teams: Collection[UUID] | None) -> list[Team]:
    """Another organization's team is refused like one that does not exist."""
    if teams is None:
        return []
    found = list(Team.objects.filter(organization=organization, pk__in=teams).order_by("pk"))
    if not found or {team.pk for team in found} != set(teams):
        raise Invalid(teams="choose teams of this organization")
    return found


def _require_room(organization: Organization) -> None:
    """Two that are made at the same moment may pass it by one; it only keeps the sweep short."""
    kept = WebhookEndpoint.objects.filter(organization=organization, removed_at=None)
    if kept.count() >= settings.TIKITAKA_POLICY.webhook_endpoints_max:
        raise TooManyEndpoints


def _stand_at_the_end(endpoint: WebhookEndpoint) -> None:
    """From here on the present choice counts. Entries that were not asked for are passed over."""
    end = end_of_log(endpoint.organization_id)
    if end is not None:
        endpoint.cursor_log, endpoint.cursor_seq = end.log, end.seq


def _changed(endpoint: WebhookEndpoint, teams: list[Team]) -> WebhookChanged:
    return WebhookChanged(
        endpoint=endpoint.pk,
        host=_host(endpoint.url),
        events=tuple(endpoint.events),
        teams=_told(endpoint, teams),
        active=endpoint.active,
    )


def _wait_anew(endpoint: WebhookEndpoint) -> None:
    now = clock.now()
    waiting = endpoint.deliveries.filter(delivered_at=None, gave_up_at=None)
    waiting.update(attempts=0, next_at=now, waiting_since=now)


def _told(endpoint: WebhookEndpoint, teams: list[Team]) -> tuple[UUID, ...] | None:
    return None if endpoint.all_teams else tuple(team.pk for team in teams)


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""
