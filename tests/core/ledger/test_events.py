"""Every type of entry can be placed, carries no personal words outside sealed fields, and is known to verification."""

from __future__ import annotations

import dataclasses
import typing
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from tikitaka.ledger.entries import GENESIS_PREV, Actor, Draft, Head, place
from tikitaka.ledger.events import KNOWN_TYPES, REGISTRY, Event


def sample(kind: type[Event]) -> Event:
    hints = typing.get_type_hints(kind)
    return kind(**{item.name: value_of(hints[item.name]) for item in dataclasses.fields(kind)})


def value_of(hint):
    if hint is UUID or UUID in typing.get_args(hint):
        return (uuid4(),) if typing.get_origin(hint) is tuple else uuid4()
    if typing.get_origin(hint) is tuple:
        return ("word",)
    return 1 if hint is int or int in typing.get_args(hint) else "word"


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_each_type_becomes_an_entry(kind: type[Event]) -> None:
    event = sample(kind)
    draft = Draft(
        id=uuid4(),
        type=event.type,
        occurred_at=datetime.now(UTC),
        actor=Actor(kind="system", id="tikitaka"),
        subject=event.subject_json(),
        context=event.context_json(),
        facts=event.facts_json(),
    )
    place(draft, Head(origin="o", size=0, tip=GENESIS_PREV, last_at=None), now=datetime.now(UTC))
    assert not set(event.sealed) & set(event.facts_json())
    assert set(event.sealed_values()) == set(event.sealed)


def test_what_is_unset_is_left_out() -> None:
    event = REGISTRY["memory.recipient.withheld"](
        note=uuid4(), team=uuid4(), recipient=uuid4(), reason="not_participant", score_bp=None, threshold_bp=None
    )
    assert set(event.facts_json()) == {"recipient", "reason"}


def test_every_type_is_registered_once() -> None:
    assert len(KNOWN_TYPES) == len(REGISTRY)
    assert all(kind.type == name for name, kind in REGISTRY.items())
