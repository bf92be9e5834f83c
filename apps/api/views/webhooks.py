"""Where events are sent, and the log of what was."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Organization
from apps.accounts.selectors import containers_with
from apps.api.paging import place_of
from apps.api.reach import VIEW
from apps.api.shapes.base import Nothing, PageQuery, require_known
from apps.api.shapes.webhooks import (
    DeliveryQuery,
    DeliveryShape,
    NewWebhook,
    NewWebhookShape,
    Rotation,
    WebhookChange,
    WebhookShape,
)
from apps.api.views.base import Door, page_of
from apps.conductor.models import WebhookDelivery, WebhookEndpoint
from apps.conductor.webhooks import endpoints
from apps.conductor.webhooks.endpoints import NewSecret
from tikitaka.authz import Permission

MANAGE = Permission.TEAMS_MANAGE
_SHOWN_ONCE = {"Cache-Control": "no-store"}


class Webhooks(Door):
    names: ClassVar = {"GET": "list_webhooks", "POST": "create_webhook"}

    @extend_schema(parameters=[PageQuery], responses=page_of(WebhookShape))
    def get(self, request: Request) -> Response:
        """The endpoints of your organizations that have not been removed."""
        require_known(request, PageQuery)
        seen = containers_with(self.actor, VIEW, Organization)
        rows = WebhookEndpoint.objects.filter(organization__in=seen, removed_at=None).prefetch_related("teams")
        found, cursor = place_of(request, rows)
        return Response({"items": [_shown(endpoint) for endpoint in found], "next": cursor})

    @extend_schema(request=NewWebhook, responses={201: NewWebhookShape})
    def post(self, request: Request) -> Response:
        """An endpoint for what happens from now on. Its secret is shown once; no key repeats it."""
        asked = NewWebhook.read(request)
        organization = self.reach(Organization, asked.pop("organization"), MANAGE, path="pk")
        return _secret(endpoints.create_endpoint(actor=self.actor, organization=organization, **asked), status=201)


class OneWebhook(Door):
    names: ClassVar = {"GET": "get_webhook", "PUT": "change_webhook"}

    @extend_schema(responses=WebhookShape)
    def get(self, request: Request, webhook: UUID) -> Response:
        """One endpoint."""
        return Response(_shown(self.reach(WebhookEndpoint, webhook, path="organization")))

    @extend_schema(request=WebhookChange, responses=WebhookShape)
    def put(self, request: Request, webhook: UUID) -> Response:
        """Another address, other events, other teams, or the switch."""
        asked = WebhookChange.read(request)
        return Response(_shown(endpoints.change_endpoint(actor=self.actor, endpoint=_own(self, webhook), **asked)))


class WebhookRotation(Door):
    names: ClassVar = {"POST": "rotate_webhook_secret"}

    @extend_schema(request=Rotation, responses=NewWebhookShape)
    def post(self, request: Request, webhook: UUID) -> Response:
        """A new secret. The old one signs beside it for a day, unless it must end at once."""
        asked = Rotation.read(request)
        return _secret(endpoints.rotate_secret(actor=self.actor, endpoint=_own(self, webhook), **asked))


class WebhookRemoval(Door):
    names: ClassVar = {"POST": "remove_webhook"}

    @extend_schema(request=Nothing, responses=WebhookShape)
    def post(self, request: Request, webhook: UUID) -> Response:
        """Nothing more is sent; the log of its deliveries stays for its time."""
        Nothing.read(request)
        found = _own(self, webhook)
        endpoints.remove_endpoint(actor=self.actor, endpoint=found)
        found.refresh_from_db()
        return Response(_shown(found))


class WebhookTest(Door):
    names: ClassVar = {"POST": "test_webhook"}

    @extend_schema(request=Nothing, responses={201: DeliveryShape})
    def post(self, request: Request, webhook: UUID) -> Response:
        """An event that stands for nothing, sent soon."""
        Nothing.read(request)
        sent = endpoints.send_test(actor=self.actor, endpoint=_own(self, webhook))
        return Response(self.shown(WebhookDelivery, sent.pk, DeliveryShape), status=201)


class Deliveries(Door):
    names: ClassVar = {"GET": "list_deliveries"}

    @extend_schema(parameters=[PageQuery, DeliveryQuery], responses=page_of(DeliveryShape))
    def get(self, request: Request) -> Response:
        """What was sent, or will be, and what came back."""
        rows = self.rows(WebhookDelivery, path="organization").where(**DeliveryQuery.of(request))
        return self.page(rows, DeliveryShape, DeliveryQuery)


class Redelivery(Door):
    names: ClassVar = {"POST": "redeliver"}

    @extend_schema(request=Nothing, responses=DeliveryShape)
    def post(self, request: Request, delivery: UUID) -> Response:
        """Sends an event once more, under the same id, with all its attempts."""
        Nothing.read(request)
        found = self.reach(WebhookDelivery, delivery, MANAGE, path="organization", select="endpoint__organization")
        endpoints.redeliver(actor=self.actor, delivery=found)
        return Response(self.shown(WebhookDelivery, delivery, DeliveryShape))


def _own(door: Door, webhook: UUID) -> WebhookEndpoint:
    return door.reach(WebhookEndpoint, webhook, MANAGE, path="organization", select="organization")


def _shown(endpoint: WebhookEndpoint) -> dict[str, Any]:
    return {
        "id": endpoint.pk,
        "organization": endpoint.organization_id,
        "host": endpoint.host,
        "events": endpoint.events,
        "all_teams": endpoint.all_teams,
        "teams": sorted(team.pk for team in endpoint.teams.all()),
        "active": endpoint.active,
        "disabled_reason": endpoint.disabled_reason,
        "failures": endpoint.failures,
        "created_at": endpoint.created_at,
    }


def _secret(made: NewSecret, status: int = 200) -> Response:
    return Response({**_shown(made.endpoint), "secret": made.secret}, status=status, headers=_SHOWN_ONCE)
