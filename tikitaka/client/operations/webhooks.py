"""Where events are sent, and recordings of elsewhere."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tikitaka.client.calls import Call, Id, get, post
from tikitaka.client.operations.teams import Order, pages
from tikitaka.client.reading import Page, one, page
from tikitaka.client.records.webhooks import Delivery, Import, ImportedSource, NewWebhook, Webhook


def list_webhooks(
    *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Webhook]]:
    """The endpoints that have not been removed."""
    return get("list_webhooks", "/api/v1/webhooks", page(Webhook), query=pages(limit, order, cursor))


def get_webhook(webhook: Id) -> Call[Webhook]:
    return get("get_webhook", "/api/v1/webhooks/{webhook}", one(Webhook), webhook=webhook)


def create_webhook(
    organization: Id, *, url: str, events: Collection[str], teams: Collection[Id] | None = None
) -> Call[NewWebhook]:
    """An endpoint for what happens from now on; its secret is in the answer and nowhere else."""
    body = {"organization": organization, "url": url, "events": events, "teams": teams}
    return post("create_webhook", "/api/v1/webhooks", one(NewWebhook), body=body)


def change_webhook(
    webhook: Id,
    *,
    url: str,
    events: Collection[str],
    teams: Collection[Id] | None = None,
    active: bool | None = None,
) -> Call[Webhook]:
    """Another address, other events, other teams, or the switch."""
    body = {"url": url, "events": events, "teams": teams, "active": active}
    call = post("change_webhook", "/api/v1/webhooks/{webhook}", one(Webhook), body=body, webhook=webhook)
    return replace(call, method="PUT", repeat=True)


def rotate_webhook_secret(webhook: Id, *, at_once: bool | None = None) -> Call[NewWebhook]:
    """The old secret signs beside the new one for a day, unless it must end at once."""
    path = "/api/v1/webhooks/{webhook}/rotate"
    return post("rotate_webhook_secret", path, one(NewWebhook), body={"at_once": at_once}, webhook=webhook)


def remove_webhook(webhook: Id) -> Call[Webhook]:
    return post("remove_webhook", "/api/v1/webhooks/{webhook}/remove", one(Webhook), webhook=webhook)


def test_webhook(webhook: Id) -> Call[Delivery]:
    """An event that stands for nothing, sent soon."""
    return post("test_webhook", "/api/v1/webhooks/{webhook}/test", one(Delivery), webhook=webhook)


def list_deliveries(
    *, endpoint: Id | None = None, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Delivery]]:
    """What was sent, or will be, and what came back."""
    query = pages(limit, order, cursor, endpoint=endpoint)
    return get("list_deliveries", "/api/v1/deliveries", page(Delivery), query=query)


def redeliver(delivery: Id) -> Call[Delivery]:
    """Once more, under the same id."""
    return post("redeliver", "/api/v1/deliveries/{delivery}/redeliver", one(Delivery), delivery=delivery)


def list_imports(
    *, team: Id | None = None, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[ImportedSource]]:
    """The conversations that were taken in."""
    query = pages(limit, order, cursor, team=team)
    return get("list_imports", "/api/v1/imports", page(ImportedSource), query=query)


def import_recording(
    team: Id, document: str | bytes, *, agent: Id | None = None, prompt: str | None = None
) -> Call[Import]:
    """A finished session, or OpenTelemetry GenAI spans as OTLP JSON. Sending it again changes nothing."""
    content = document.encode() if isinstance(document, str) else document
    query = {"team": team, "agent": agent, "prompt": prompt}
    call = post("import_recording", "/api/v1/imports", one(Import), query=query)
    return replace(call, body=None, content=content, repeat=True)
