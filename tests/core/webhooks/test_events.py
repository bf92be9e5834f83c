"""What is told of an entry: ids, types, statuses, times. Whatever words an entry holds, none of them leaves."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.core.ledger.test_events import sample
from tikitaka.errors import Invalid
from tikitaka.ledger.entries import GENESIS_PREV, SYSTEM, Draft, Head, place
from tikitaka.ledger.events import REGISTRY, Event, IncidentOpened, NoteActivated, TaskSettled
from tikitaka.webhooks.events import (
    NAMES_CHARS_MAX,
    Source,
    WebhookEvent,
    body_of,
    body_of_test,
    chosen,
    entry_types,
    event_of,
)

ORGANIZATION, ENTRY = uuid4(), uuid4()
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def header(event: Event) -> dict[str, Any]:
    draft = Draft(
        id=ENTRY,
        type=event.type,
        occurred_at=NOW,
        actor=SYSTEM,
        subject=event.subject_json(),
        context=event.context_json(),
        facts=event.facts_json(),
    )
    entry, _ = place(draft, Head(origin="o", size=7, tip=GENESIS_PREV, last_at=None), now=NOW)
    return json.loads(entry.header)


def told(event: Event) -> dict[str, Any]:
    return json.loads(body_of(Source(organization=ORGANIZATION, entry=ENTRY, seq=7, header=header(event))))


def test_every_event_has_its_own_entry() -> None:
    types = entry_types(frozenset(WebhookEvent))
    assert len(types) == len(WebhookEvent)
    assert set(types) <= set(REGISTRY)
    assert {event_of(kind) for kind in types} == set(WebhookEvent)
    assert NAMES_CHARS_MAX <= 24


def test_a_settled_task() -> None:
    task, team = uuid4(), uuid4()
    assert told(TaskSettled(task=task, team=team, status="partial")) == {
        "type": "task.settled",
        "timestamp": "2026-03-01T12:00:00.000000Z",
        "data": {
            "organization": str(ORGANIZATION),
            "team": str(team),
            "task": str(task),
            "status": "partial",
            "entry": str(ENTRY),
            "seq": 7,
        },
    }


def test_a_landed_note_names_who_has_it_and_not_what_it_says() -> None:
    note, team, agent = uuid4(), uuid4(), uuid4()
    data = told(NoteActivated(note=note, team=team, content_digest="ab" * 32, recipients=(agent,)))["data"]
    assert (data["note"], data["agents"], data["status"]) == (str(note), [str(agent)], "active")
    assert "content_digest" not in data


def test_an_incident_of_no_team() -> None:
    data = told(IncidentOpened(incident=uuid4(), team=None, kind="broken_chain"))["data"]
    assert (data["kind"], data["status"]) == ("broken_chain", "open")
    assert "team" not in data


@pytest.mark.parametrize("event", list(WebhookEvent))
def test_no_word_that_was_not_named_leaves(event: WebhookEvent) -> None:
    """Every text that an entry of the type may carry is a marker here; only status and kind may come through."""
    kind = REGISTRY[entry_types(frozenset({event}))[0]]
    marked = dataclasses.replace(
        sample(kind),
        **{
            item.name: f"marked {item.name}"
            for item in dataclasses.fields(kind)
            if isinstance(getattr(sample(kind), item.name), str)
        },
    )
    data = told(marked)["data"]
    allowed = {"marked status", "marked kind"}
    words = {value for value in data.values() if isinstance(value, str)} - allowed
    assert not any("marked" in word for word in words)
    for name, value in data.items():
        for one in value if isinstance(value, list) else [value]:
            if name not in ("status", "kind", "seq"):
                UUID(one)


def test_facts_that_an_entry_gets_later_are_not_told() -> None:
    document = header(TaskSettled(task=uuid4(), team=uuid4(), status="failed"))
    document["facts"]["prompt"] = "all of it"
    document["context"]["segment"] = "the whole thread"
    body = body_of(Source(organization=ORGANIZATION, entry=ENTRY, seq=7, header=document))
    assert "all of it" not in body
    assert "the whole thread" not in body


def test_a_test_is_no_event() -> None:
    body = json.loads(body_of_test(organization=ORGANIZATION, endpoint=ENTRY, now=NOW))
    assert body["type"] == "webhook.test"
    with pytest.raises(Invalid):
        chosen(["webhook.test"])


@pytest.mark.parametrize("names", [[], None, "task.settled", ["task.settled", "task.started"], [None]])
def test_a_choice_that_is_none(names: object) -> None:
    with pytest.raises(Invalid) as refused:
        chosen(names)
    assert set(refused.value.fields) == {"events"}


def test_a_choice() -> None:
    assert chosen(["note.landed", "note.landed"]) == {WebhookEvent.NOTE_LANDED}
