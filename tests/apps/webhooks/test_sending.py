"""Deliveries on real sockets: what arrives, what is tried again, what is given up."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from django.db import connection

from apps.conductor.models import Incident, WebhookDelivery, WebhookEndpoint
from apps.conductor.pool import embedded_pool
from apps.conductor.sweep import sweep
from apps.conductor.webhooks import sending
from apps.conductor.webhooks.endpoints import change_endpoint, redeliver, rotate_secret, send_test
from apps.conductor.webhooks.sending import deliver
from apps.conductor.webhooks.transport import Sent, post
from tests.apps.webhooks.conftest import Clock, incidents, listening, only, state
from tests.apps.webhooks.test_endpoints import ALL, recorded, settle
from tests.support.cast import Cast
from tests.support.receiver import Receiver, answering
from tikitaka.policy import Policy
from tikitaka.webhooks.signing import Genuine, NotGenuine, verify
from tikitaka.webhooks.trying import ATTEMPTS_MAX

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast(committed_cast: Cast) -> Cast:
    return committed_cast


class TestArriving:
    def test_signed_with_the_endpoints_secret(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, secret = listening(cast, receiver)
        settle(cast.team, "partial")
        deliver(endpoint.pk)
        (call,) = receiver.calls
        found = verify(secret, call.headers, call.body, now=int(time.time()))
        assert found == Genuine(id=str(only().pk), timestamp=int(call.headers["webhook-timestamp"]))
        assert isinstance(verify(secret, call.headers, call.body + b" ", now=int(time.time())), NotGenuine)
        document = json.loads(call.body)
        assert (document["type"], document["data"]["status"]) == ("task.settled", "partial")
        assert call.headers["content-type"] == "application/json"
        assert call.headers["host"] == f"127.0.0.1:{receiver.port}"
        assert call.path == "/in"

    def test_the_log_says_so(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        deliver(endpoint.pk)
        delivery = only()
        assert (state(delivery), delivery.attempts, delivery.last_status, delivery.error) == ("delivered", 1, 204, "")
        endpoint.refresh_from_db()
        assert (endpoint.failures, endpoint.quiet_until) == (0, None)

    def test_once_however_often_the_job_comes(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        for _ in range(3):
            deliver(endpoint.pk)
        assert len(receiver.calls) == 1

    def test_in_the_order_of_the_ledger(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, _ = listening(cast, receiver)
        for _ in range(5):
            settle(cast.team)
        deliver(endpoint.pk)
        seqs = [json.loads(call.body)["data"]["seq"] for call in receiver.calls]
        assert seqs == sorted(seqs)
        assert len(seqs) == 5

    def test_through_the_sweep_and_the_pool(self, cast: Cast, receiver: Receiver) -> None:
        listening(cast, receiver)
        settle(cast.team)
        with embedded_pool() as pool:
            sweep()
            assert pool.drain(120)
        assert len(receiver.calls) == 1

    def test_both_signatures_after_a_new_secret(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, old = listening(cast, receiver)
        new = rotate_secret(actor=cast.owner, endpoint=endpoint).secret
        settle(cast.team)
        deliver(endpoint.pk)
        (call,) = receiver.calls
        for secret in (old, new):
            assert isinstance(verify(secret, call.headers, call.body, now=int(time.time())), Genuine)

    def test_no_transaction_is_open_while_it_is_sent(
        self, cast: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        seen = []

        def watched(*args: Any, **options: Any) -> Sent:
            seen.append(connection.in_atomic_block)
            return post(*args, **options)

        monkeypatch.setattr(sending, "post", watched)
        deliver(endpoint.pk)
        assert seen == [False]

    def test_an_endpoint_that_is_gone_or_off_is_nothing_to_do(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        WebhookEndpoint.objects.update(active=False)
        deliver(endpoint.pk)
        deliver(cast.team.pk)
        assert receiver.calls == []


class TestTryingAgain:
    def test_after_its_wait_with_the_same_id_and_the_same_bytes(
        self, cast: Cast, receiver: Receiver, moments: Clock
    ) -> None:
        receiver.behavior = answering(500)
        endpoint, secret = listening(cast, receiver)
        settle(cast.team)
        deliver(endpoint.pk)
        assert (only().last_status, only().error) == (500, "refused_status")
        moments.goes(4)
        deliver(endpoint.pk)
        assert len(receiver.calls) == 1
        receiver.behavior = answering(200, b"thanks")
        moments.goes(2)
        deliver(endpoint.pk)
        assert state(only()) == "delivered"
        first, second = receiver.calls
        assert (first.id, first.body) == (second.id, second.body)
        stamp = int(second.headers["webhook-timestamp"])
        assert stamp == int(first.headers["webhook-timestamp"]) + 6
        assert isinstance(verify(secret, second.headers, second.body, now=stamp), Genuine)

    def test_it_is_given_up_with_an_incident_that_a_later_success_closes(
        self, cast: Cast, receiver: Receiver, moments: Clock
    ) -> None:
        receiver.behavior = answering(503)
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        deliver(endpoint.pk)
        for _ in range(ATTEMPTS_MAX - 1):
            assert (state(only()), incidents()) == ("waiting", [])
            moments.now = max(only().next_at, WebhookEndpoint.objects.get().quiet_until)
            deliver(endpoint.pk)
        assert (state(only()), only().attempts) == ("given up", ATTEMPTS_MAX)
        assert receiver.ids() == [str(only().pk)] * ATTEMPTS_MAX
        (incident,) = incidents()
        assert incident.subject == f"webhook {endpoint.pk}"
        assert "503" in incident.detail
        receiver.behavior = answering(204)
        moments.goes(700)
        deliver(endpoint.pk)
        assert len(receiver.calls) == ATTEMPTS_MAX
        redeliver(actor=cast.owner, delivery=only())
        deliver(endpoint.pk)
        assert (state(only()), only().attempts) == ("delivered", 1)
        assert receiver.ids()[-1] == str(only().pk)
        assert incidents() == []
        assert len(recorded(cast, "webhook.redelivered")) == 1

    def test_its_own_incident_is_an_event_and_makes_no_circle(
        self, cast: Cast, receiver: Receiver, moments: Clock, settings: Any
    ) -> None:
        settings.TIKITAKA_POLICY = Policy(webhook_life_s=60)
        receiver.behavior = answering(500)
        endpoint, _ = listening(cast, receiver, events=ALL)
        settle(cast.team)
        for _ in range(12):
            deliver(endpoint.pk)
            moments.goes(700)
        assert Incident.objects.count() == 1
        assert WebhookDelivery.objects.count() == 2
        assert {state(row) for row in WebhookDelivery.objects.all()} == {"given up"}

    def test_a_failing_endpoint_is_left_alone_whatever_waits(
        self, cast: Cast, receiver: Receiver, moments: Clock
    ) -> None:
        receiver.behavior = answering(500)
        endpoint, _ = listening(cast, receiver)
        for _ in range(5):
            settle(cast.team)
        for _ in range(3):
            deliver(endpoint.pk)
        assert len(receiver.calls) == 1
        moments.goes(6)
        deliver(endpoint.pk)
        assert len(receiver.calls) == 2
        endpoint.refresh_from_db()
        assert endpoint.failures == 2
        receiver.behavior = answering(200)
        moments.goes(31)
        deliver(endpoint.pk)
        assert {state(row) for row in WebhookDelivery.objects.all()} == {"delivered"}
        endpoint.refresh_from_db()
        assert (endpoint.failures, endpoint.quiet_until) == (0, None)

    def test_what_has_waited_too_long_behind_others_is_given_up_unsent(
        self, cast: Cast, receiver: Receiver, moments: Clock, settings: Any
    ) -> None:
        receiver.behavior = answering(500)
        endpoint, _ = listening(cast, receiver)
        for _ in range(4):
            settle(cast.team)
        deliver(endpoint.pk)
        moments.goes(settings.TIKITAKA_POLICY.webhook_life_s)
        deliver(endpoint.pk)
        assert len(receiver.calls) == 1
        assert set(WebhookDelivery.objects.values_list("error", flat=True)) == {"expired"}
        (incident,) = incidents()
        assert incident.detail.startswith("4 events")

    def test_gone_switches_the_endpoint_off(self, cast: Cast, receiver: Receiver) -> None:
        receiver.behavior = answering(410)
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        deliver(endpoint.pk)
        endpoint.refresh_from_db()
        assert (endpoint.active, endpoint.disabled_reason) == (False, "gone")
        assert len(recorded(cast, "webhook.switched_off")) == 1
        assert len(incidents()) == 1
        receiver.behavior = answering(200)
        change_endpoint(actor=cast.owner, endpoint=endpoint, url=receiver.url, events=["task.settled"])
        deliver(endpoint.pk)
        assert (state(only()), incidents()) == ("delivered", [])

    def test_a_key_that_is_gone(self, cast: Cast, receiver: Receiver, settings: Any) -> None:
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        settings.TIKITAKA_SEALING_KEY = os.urandom(24).hex()
        deliver(endpoint.pk)
        assert receiver.calls == []
        assert only().error == "no_secret"


class TestATest:
    def test_it_arrives(self, cast: Cast, receiver: Receiver) -> None:
        endpoint, secret = listening(cast, receiver)
        send_test(actor=cast.operator, endpoint=endpoint)
        deliver(endpoint.pk)
        (call,) = receiver.calls
        assert json.loads(call.body)["type"] == "webhook.test"
        assert isinstance(verify(secret, call.headers, call.body, now=int(time.time())), Genuine)

    def test_it_is_tried_once_and_is_no_incident(self, cast: Cast, receiver: Receiver, moments: Clock) -> None:
        receiver.behavior = answering(404)
        endpoint, _ = listening(cast, receiver)
        send_test(actor=cast.owner, endpoint=endpoint)
        for _ in range(3):
            deliver(endpoint.pk)
            moments.goes(1_000)
        assert len(receiver.calls) == 1
        delivery = WebhookDelivery.objects.get()
        assert (state(delivery), delivery.last_status) == ("given up", 404)
        assert incidents() == []

    def test_it_does_not_wait_until_a_failing_endpoint_has_rested(
        self, cast: Cast, receiver: Receiver, moments: Clock
    ) -> None:
        receiver.behavior = answering(500)
        endpoint, _ = listening(cast, receiver)
        settle(cast.team)
        deliver(endpoint.pk)
        receiver.behavior = answering(200)
        send_test(actor=cast.owner, endpoint=endpoint)
        deliver(endpoint.pk)
        assert json.loads(receiver.calls[-1].body)["type"] == "webhook.test"
