"""A receiver on this machine, time that stands still, and what the log of deliveries says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.conductor.models import Incident, IncidentKind, WebhookDelivery, WebhookEndpoint
from apps.conductor.webhooks.endpoints import create_endpoint
from apps.ledger import clock
from tests.support.cast import Cast
from tests.support.receiver import Receiver, receiving


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """The operator allows this machine."""
    settings.TIKITAKA_WEBHOOK_PRIVATE = ["127.0.0.1"]
    with receiving() as receiver:
        yield receiver


class Clock:
    """Time that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def goes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def moments() -> Iterator[Clock]:
    own = Clock()
    with clock.running_on(own):
        yield own


def listening(cast: Cast, receiver: Receiver, **options: Any) -> tuple[WebhookEndpoint, str]:
    given = {"actor": cast.owner, "organization": cast.organization, "url": receiver.url, "events": ["task.settled"]}
    made = create_endpoint(**{**given, **options})
    return made.endpoint, made.secret


def only() -> WebhookDelivery:
    return WebhookDelivery.objects.get(event="task.settled")


def state(delivery: WebhookDelivery) -> str:
    return "delivered" if delivery.delivered_at else "given up" if delivery.gave_up_at else "waiting"


def incidents() -> list[Incident]:
    return list(Incident.objects.filter(kind=IncidentKind.WEBHOOK_FAILING, closed_at=None))
