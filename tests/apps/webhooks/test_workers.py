"""Several workers at once, workers that come late, and workers that die between sending and saving."""

from __future__ import annotations

import signal
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections

from apps.conductor.models import WebhookDelivery, WebhookEndpoint
from apps.conductor.pool import embedded_pool
from apps.conductor.sweep import sweep
from apps.conductor.webhooks import sending
from apps.conductor.webhooks.sending import deliver
from apps.conductor.webhooks.transport import Sent, post
from apps.ledger import clock
from tests.apps.webhooks.conftest import Clock, incidents, listening, only, state
from tests.apps.webhooks.test_endpoints import settle
from tests.support import processes
from tests.support.cast import Cast
from tests.support.receiver import Receiver, answering
from tikitaka.webhooks.trying import ATTEMPTS_MAX, SendFault

pytestmark = pytest.mark.django_db(transaction=True)
KILL = "import os, signal\ndef die(*args, **options):\n    os.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.fixture
def cast(committed_cast: Cast) -> Cast:
    return committed_cast


class TestAtOnce:
    def test_each_event_is_sent_once(self, cast: Cast, receiver: Receiver) -> None:
        receiver.behavior = answering(200, after_s=0.05)
        endpoint, _ = listening(cast, receiver)
        for _ in range(6):
            settle(cast.team)
        self.together(4, endpoint)
        assert len(receiver.ids()) == len(set(receiver.ids())) == 6
        assert receiver.peak == 1
        assert {state(row) for row in WebhookDelivery.objects.all()} == {"delivered"}

    def test_the_claim_of_a_delivery_holds_where_that_of_the_endpoint_does_not(
        self, cast: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As when a worker was held up for longer than its lease, and another one has begun."""
        monkeypatch.setattr(sending, "_claim_endpoint", lambda endpoint: clock.now())
        monkeypatch.setattr(sending, "_renew", lambda endpoint, lease: lease)
        receiver.behavior = answering(200, after_s=0.05)
        endpoint, _ = listening(cast, receiver)
        for _ in range(6):
            settle(cast.team)
        self.together(4, endpoint)
        assert len(receiver.ids()) == len(set(receiver.ids())) == 6
        assert receiver.peak > 1

    def test_a_worker_that_comes_back_late_says_nothing_about_the_next_attempt(
        self, cast: Cast, receiver: Receiver, moments: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)

        def held_up(*args: Any, **options: Any) -> Sent:
            """Its lease runs out meanwhile, and another worker tries in vain."""
            monkeypatch.setattr(sending, "post", post)
            receiver.behavior = answering(503)
            moments.goes(130)
            deliver(endpoint.pk)
            return Sent(fault=SendFault.TIMEOUT)

        monkeypatch.setattr(sending, "post", held_up)
        deliver(endpoint.pk)
        assert (state(only()), only().attempts, only().last_status) == ("waiting", 2, 503)
        endpoint.refresh_from_db()
        assert endpoint.failures == 1

    def test_what_a_late_worker_has_delivered_is_delivered(
        self, cast: Cast, receiver: Receiver, moments: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)

        def held_up(*args: Any, **options: Any) -> Sent:
            monkeypatch.setattr(sending, "post", post)
            receiver.behavior = answering(503)
            moments.goes(130)
            deliver(endpoint.pk)
            return Sent(status=200)

        monkeypatch.setattr(sending, "post", held_up)
        deliver(endpoint.pk)
        assert state(only()) == "delivered"

    def test_a_long_line_is_left_to_the_next_sweep(
        self, cast: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sending, "_ROUND_S", 0.15)
        receiver.behavior = answering(200, after_s=0.1)
        endpoint, _ = listening(cast, receiver)
        for _ in range(6):
            settle(cast.team)
        deliver(endpoint.pk)
        assert 1 <= len(receiver.calls) <= 3
        endpoint.refresh_from_db()
        assert endpoint.quiet_until is None

    def together(self, count: int, endpoint: WebhookEndpoint) -> None:
        barrier, errors = threading.Barrier(count), []

        def work() -> None:
            try:
                barrier.wait()
                for _ in range(8):
                    deliver(endpoint.pk)
            except Exception as error:  # noqa: BLE001
                errors.append(error)
            finally:
                connections.close_all()

        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert errors == []


@pytest.mark.kill
class TestKilled:
    def run(self, endpoint: WebhookEndpoint, name: str) -> None:
        died = processes.run(
            KILL + f"from apps.conductor.webhooks import sending\nsending.{name} = die\n"
            f"sending.deliver('{endpoint.pk}')"
        )
        assert died.returncode == -signal.SIGKILL, died.errors

    def test_between_sending_and_saving(self, cast: Cast, receiver: Receiver) -> None:
        """It has arrived and nobody knows: it is sent once more, under the same id, after the claim has run out."""
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        self.run(endpoint, "_succeed")
        assert len(receiver.calls) == 1
        assert (state(only()), only().attempts, only().error) == ("waiting", 1, "interrupted")
        deliver(endpoint.pk)
        assert len(receiver.calls) == 1
        self.later()
        first, second = receiver.calls
        assert (first.id, first.body) == (second.id, second.body)
        assert (state(only()), only().attempts) == ("delivered", 2)

    def test_before_sending(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        self.run(endpoint, "_send")
        assert receiver.calls == []
        self.later()
        assert len(receiver.calls) == 1
        assert state(only()) == "delivered"

    def test_while_reading_the_ledger(self, cast: Cast, receiver: Receiver) -> None:
        """Cursor and rows are saved together: nothing is passed over and nothing is told twice."""
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        died = processes.run(
            KILL + "from apps.conductor.models import WebhookEndpoint\nWebhookEndpoint.save = die\n"
            f"from apps.conductor.webhooks import sending\nsending.deliver('{endpoint.pk}')"
        )
        assert died.returncode == -signal.SIGKILL, died.errors
        assert not WebhookDelivery.objects.exists()
        self.later()
        assert len(receiver.calls) == 1

    def test_one_that_kills_every_worker_is_given_up(self, cast: Cast, receiver: Receiver, moments: Clock) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        deliver(endpoint.pk)
        WebhookDelivery.objects.update(
            attempts=ATTEMPTS_MAX, error="interrupted", delivered_at=None, next_at=moments.now
        )
        deliver(endpoint.pk)
        assert len(receiver.calls) == 1
        assert (state(only()), only().error) == ("given up", "interrupted")
        assert len(incidents()) == 1

    def later(self) -> None:
        """A restarted process sweeps after the claims have run out."""
        moment = datetime.now(UTC) + timedelta(minutes=5)
        with clock.running_on(lambda: moment), embedded_pool() as pool:
            sweep()
            assert pool.drain(120)
