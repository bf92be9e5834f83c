"""Webhooks in the console: who adds and keeps them, what is typed, where the secret is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from apps.conductor.models import WebhookDelivery, WebhookEndpoint
from apps.conductor.webhooks.secrets import secrets_of
from apps.ledger import clock
from tests.doors.conftest import Stage

pytestmark = pytest.mark.django_db
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")


@pytest.fixture(autouse=True)
def this_machine_may_be_sent_to(settings: Any) -> None:
    settings.TIKITAKA_WEBHOOK_PRIVATE = ["localhost"]


def send(client: Client, name: str, row: Model, **typed: Any) -> Any:
    """As the dialog sends it."""
    address = reverse(f"admin:{name}", args=[row.pk])
    return client.post(address, {"_form_submitted": "True", **typed}, headers={"HX-Request": "true"})


def add(client: Client, stage: Stage, **typed: Any) -> Any:
    given = {"url": "http://localhost:9000/in", "events": ["task.settled"], "all_teams": "on"}
    return send(client, "accounts_organization_webhook", stage.rows["accounts.organization"], **{**given, **typed})


def made(stage: Stage) -> WebhookEndpoint:
    return WebhookEndpoint.objects.exclude(pk__in=[stage.rows[LABEL].pk, stage.others[LABEL].pk]).get()


LABEL = "conductor.webhookendpoint"


@pytest.mark.parametrize("who", ["owner", "operator"])
def test_adding_one_shows_the_secret_this_once(stage: Stage, browser: Callable[..., Client], who: str) -> None:
    client = browser(who)
    answer = add(client, stage)
    (secret,) = SECRET.findall(answer.content.decode())
    endpoint = made(stage)
    assert secrets_of(endpoint, clock.now()) == [secret]
    assert "no-store" in answer["Cache-Control"]
    assert secret not in str(answer.cookies)
    for view, args in (("changelist", []), ("change", [endpoint.pk])):
        page = client.get(reverse(f"admin:conductor_webhookendpoint_{view}", args=args)).content.decode()
        assert "localhost:9000" in page
        assert not SECRET.search(page)


@pytest.mark.parametrize("who", ["reviewer", "auditor", "stranger"])
def test_nobody_else_does(stage: Stage, browser: Callable[..., Client], who: str) -> None:
    before = list(WebhookEndpoint.objects.values())
    assert add(browser(who), stage).status_code in (403, 404)
    endpoint = stage.rows[LABEL]
    for name in ("edit", "remove", "rotate", "test"):
        answer = send(browser(who), f"conductor_webhookendpoint_{name}", endpoint)
        assert answer.status_code in (403, 404), name
    assert list(WebhookEndpoint.objects.values()) == before


@pytest.mark.parametrize("who", ["owner", "operator", "reviewer", "auditor"])
def test_everybody_sees_the_host_and_only_who_may_change_it_the_rest(
    stage: Stage, browser: Callable[..., Client], who: str
) -> None:
    client = browser(who)
    for label in (LABEL, "conductor.webhookdelivery"):
        name = label.replace(".", "_")
        for view, args in (("changelist", []), ("change", [stage.rows[label].pk])):
            page = client.get(reverse(f"admin:{name}_{view}", args=args)).content.decode()
            assert "alpha.invalid" in page, (label, view)
            assert "path-of" not in page, (label, view)
    dialog = client.get(reverse("admin:conductor_webhookendpoint_edit", args=[stage.rows[LABEL].pk]))
    assert ("path-of" in dialog.content.decode()) == (who in ("owner", "operator"))


def test_an_address_that_is_refused_says_why(stage: Stage, browser: Callable[..., Client]) -> None:
    client = browser("owner")
    answer = add(client, stage, url="https://127.0.0.1/")
    assert answer.status_code == 400
    page = client.get(reverse("admin:index")).content.decode()
    assert "private_address: this host is not on the internet" in page
    assert WebhookEndpoint.objects.count() == 2


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"events": []}, "This field is required"),
        ({"events": ["task.started"]}, "not one of the available choices"),
        ({"all_teams": ""}, "Choose at least one, or all."),
        ({"url": ""}, "This field is required"),
        ({"url": "https://x/" + "y" * 500}, "at most 500 characters"),
    ],
)
def test_what_is_refused_beside_its_field(
    stage: Stage, browser: Callable[..., Client], typed: dict[str, Any], words: str
) -> None:
    answer = add(browser("owner"), stage, **typed)
    assert words in answer.content.decode()
    assert WebhookEndpoint.objects.count() == 2


def test_some_teams_only(stage: Stage, browser: Callable[..., Client]) -> None:
    add(browser("owner"), stage, all_teams="", teams=[str(stage.cast.team.pk)])
    endpoint = made(stage)
    assert not endpoint.all_teams
    assert list(endpoint.teams.all()) == [stage.cast.team]


@pytest.mark.parametrize("theirs", [True, False])
def test_a_team_of_another_organization_is_like_none(
    stage: Stage, browser: Callable[..., Client], theirs: bool
) -> None:
    team = stage.cast.other_team.pk if theirs else uuid4()
    client = browser("owner")
    assert add(client, stage, all_teams="", teams=[str(team)]).status_code == 400
    page = client.get(reverse("admin:index")).content.decode()
    assert "choose teams of this organization" in page
    assert WebhookEndpoint.objects.count() == 2


def test_the_dialog_offers_own_teams_only(stage: Stage, browser: Callable[..., Client]) -> None:
    organization = stage.rows["accounts.organization"]
    page = browser("owner").get(reverse("admin:accounts_organization_webhook", args=[organization.pk])).content.decode()
    assert str(stage.cast.team.pk) in page
    assert str(stage.cast.other_team.pk) not in page


def test_changing_one(stage: Stage, browser: Callable[..., Client]) -> None:
    client = browser("operator")
    add(client, stage)
    endpoint = made(stage)
    page = client.get(reverse("admin:conductor_webhookendpoint_edit", args=[endpoint.pk])).content.decode()
    assert 'value="http://localhost:9000/in"' in page
    typed = {"url": endpoint.url, "events": ["note.landed"], "all_teams": "on"}
    assert send(client, "conductor_webhookendpoint_edit", endpoint, **typed).status_code == 200
    endpoint.refresh_from_db()
    assert (endpoint.events, endpoint.active) == (["note.landed"], False)
    page = client.get(reverse("admin:conductor_webhookendpoint_change", args=[endpoint.pk])).content.decode()
    assert "Send a test" not in page


def test_a_new_secret(stage: Stage, browser: Callable[..., Client]) -> None:
    client = browser("owner")
    (old,) = SECRET.findall(add(client, stage).content.decode())
    endpoint = made(stage)
    (new,) = SECRET.findall(send(client, "conductor_webhookendpoint_rotate", endpoint).content.decode())
    endpoint.refresh_from_db()
    assert secrets_of(endpoint, clock.now()) == [new, old]
    (last,) = SECRET.findall(send(client, "conductor_webhookendpoint_rotate", endpoint, at_once="on").content.decode())
    endpoint.refresh_from_db()
    assert secrets_of(endpoint, clock.now()) == [last]


def test_a_test_its_log_and_sending_it_again(stage: Stage, browser: Callable[..., Client]) -> None:
    client = browser("owner")
    add(client, stage)
    endpoint = made(stage)
    assert send(client, "conductor_webhookendpoint_test", endpoint).status_code == 200
    delivery = WebhookDelivery.objects.get(endpoint=endpoint)
    now = clock.now()
    WebhookDelivery.objects.filter(pk=delivery.pk).update(attempts=1, gave_up_at=now, last_status=418, error="x")
    page = client.get(reverse("admin:conductor_webhookdelivery_changelist")).content.decode()
    assert "given up" in page
    assert "418" in page
    assert send(client, "conductor_webhookdelivery_again", delivery).status_code == 200
    delivery.refresh_from_db()
    assert (delivery.attempts, delivery.gave_up_at) == (0, None)


def test_removing_one(stage: Stage, browser: Callable[..., Client]) -> None:
    client = browser("owner")
    add(client, stage)
    endpoint = made(stage)
    send(client, "conductor_webhookendpoint_test", endpoint)
    assert send(client, "conductor_webhookendpoint_remove", endpoint).status_code == 200
    endpoint.refresh_from_db()
    assert endpoint.removed_at is not None
    for name in ("remove", "rotate", "test"):
        assert send(client, f"conductor_webhookendpoint_{name}", endpoint).status_code == 409, name
    delivery = WebhookDelivery.objects.get(endpoint=endpoint)
    assert send(client, "conductor_webhookdelivery_again", delivery).status_code == 409
    for label, row in (("webhookendpoint", endpoint), ("webhookdelivery", delivery)):
        page = client.get(reverse(f"admin:conductor_{label}_change", args=[row.pk])).content.decode()
        assert not re.search("Send again|Send a test|New secret", page)


def test_nothing_is_typed_into_the_log(stage: Stage, browser: Callable[..., Client]) -> None:
    row = stage.rows["conductor.webhookdelivery"]
    for who in ("owner", "operator"):
        answer = browser(who).post(
            reverse("admin:conductor_webhookdelivery_change", args=[row.pk]), {"body": "x", "error": "y"}
        )
        assert answer.status_code == 403
    row.refresh_from_db()
    assert (row.body, row.error) == ("{}", "")
