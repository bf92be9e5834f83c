"""Webhooks over REST: made by people and machines that may manage teams, the secret shown once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.conductor.models import WebhookEndpoint
from apps.ledger.models import Entry
from tests.doors.conftest import browser_of
from tests.support.cast import Cast
from tests.support.machines import machine, send, service_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(cast: Cast, settings: Any) -> Client:
    settings.TIKITAKA_WEBHOOK_PRIVATE = ["127.0.0.1"]
    return machine(service_token(cast.owner, cast.organization))


def made(client: Client, cast: Cast, **more: Any) -> Any:
    body = {"organization": str(cast.organization.pk), "url": "http://127.0.0.1:9/hook?key=of-the-receiver"}
    return send(client, "POST", "/api/v1/webhooks", {**body, "events": ["task.settled"], **more})


def test_its_secret_is_shown_once(cast: Cast, client: Client) -> None:
    answer = made(client, cast)
    assert answer.status_code == 201, answer.content
    assert answer["Cache-Control"] == "no-store"
    secret = answer.json()["secret"]
    assert secret.startswith("whsec_")
    identity = answer.json()["id"]
    for address in ("/api/v1/webhooks", f"/api/v1/webhooks/{identity}"):
        text = send(client, "GET", address).content.decode()
        assert "127.0.0.1:9" in text
        assert "of-the-receiver" not in text
        assert secret not in text
    assert WebhookEndpoint.objects.get().created_by is None
    rotated = send(client, "POST", reverse("api:webhook-rotate", args=[identity]), {"at_once": True})
    assert rotated.json()["secret"] != secret
    assert secret not in json.dumps(list(Entry.objects.values_list("header", flat=True)))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "http://example.org/x"}, "url"),
        ({"url": "https://169.254.169.254/latest"}, "url"),
        ({"events": ["note.text"]}, "events.0"),
        ({"events": []}, "events"),
        ({"teams": ["other"]}, "teams"),
    ],
)
def test_what_is_refused(change: dict[str, Any], field: str, cast: Cast, client: Client) -> None:
    if "teams" in change:
        change = {"teams": [str(cast.other_team.pk)]}
    answer = made(client, cast, **change)
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert not WebhookEndpoint.objects.exists()


def test_changed_tested_and_removed(cast: Cast, client: Client) -> None:
    identity = made(client, cast).json()["id"]
    address = f"/api/v1/webhooks/{identity}"
    body = {"url": "http://127.0.0.1:9/other", "events": ["note.waiting"], "teams": [str(cast.team.pk)]}
    changed = send(client, "PUT", address, body).json()
    assert (changed["events"], changed["teams"], changed["all_teams"]) == (["note.waiting"], [str(cast.team.pk)], False)
    sent = send(client, "POST", f"{address}/test")
    assert (sent.status_code, sent.json()["event"]) == (201, "webhook.test")
    (listed,) = send(client, "GET", f"/api/v1/deliveries?endpoint={identity}").json()["items"]
    assert listed["id"] == sent.json()["id"]
    assert send(client, "POST", reverse("api:delivery-redeliver", args=[listed["id"]])).status_code == 200
    assert send(client, "POST", f"{address}/remove").json()["active"] is False
    assert send(client, "GET", "/api/v1/webhooks").json()["items"] == []
    assert send(client, "POST", f"{address}/test").json()["code"] == "endpoint_removed"


def test_pages(cast: Cast, client: Client) -> None:
    for _ in range(3):
        made(client, cast)
    first = send(client, "GET", "/api/v1/webhooks?limit=2").json()
    rest = send(client, "GET", f"/api/v1/webhooks?limit=2&cursor={first['next']}").json()
    assert len({item["id"] for item in first["items"] + rest["items"]}) == 3
    assert rest["next"] is None


def test_a_person_who_may_not(cast: Cast, client: Client) -> None:
    assert made(browser_of(cast)("auditor"), cast).status_code == 403
    assert made(browser_of(cast)("stranger"), cast).status_code == 404
    person = made(browser_of(cast)("operator"), cast)
    assert person.status_code == 201
    assert WebhookEndpoint.objects.get().created_by_id == cast.operator.id
