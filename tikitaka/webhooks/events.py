"""Which entries of the ledger become events, and what of them is told: ids, types, statuses, times. Never text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from tikitaka.errors import Invalid
from tikitaka.ledger.entries import timestamp
from tikitaka.ledger.events import IncidentOpened, NoteActivated, NoteRevoked, ReviewItemOpened, TaskSettled


class WebhookEvent(StrEnum):
    """What an endpoint may ask for."""

    TASK_SETTLED = "task.settled"
    NOTE_WAITING = "note.waiting"
    NOTE_LANDED = "note.landed"
    NOTE_REVOKED = "note.revoked"
    INCIDENT_OPENED = "incident.opened"


TEST = "webhook.test"
NAMES_CHARS_MAX = max(map(len, (*WebhookEvent, TEST)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """The type of entry behind an event, and the facts that are told beside subject and context.

    A fact must be named to leave: a type that later carries more tells no more by itself.
    """

    entry: str
    facts: Mapping[str, str]
    status: str = ""


_TOLD: Mapping[WebhookEvent, _Told] = MappingProxyType(
    {
        WebhookEvent.TASK_SETTLED: _Told(entry=TaskSettled.type, facts={"status": "status"}),
        WebhookEvent.NOTE_WAITING: _Told(entry=ReviewItemOpened.type, facts={}, status="waiting"),
        WebhookEvent.NOTE_LANDED: _Told(entry=NoteActivated.type, facts={"recipients": "agents"}, status="active"),
        WebhookEvent.NOTE_REVOKED: _Told(entry=NoteRevoked.type, facts={}, status="revoked"),
        WebhookEvent.INCIDENT_OPENED: _Told(entry=IncidentOpened.type, facts={"kind": "kind"}, status="open"),
    }
)
_EVENTS = {told.entry: event for event, told in _TOLD.items()}
_CONTEXT = ("team", "review_item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What of an entry an event is made from. `header` is the entry's own document."""

    organization: UUID
    entry: UUID
    seq: int
    header: Mapping[str, Any]


def entry_types(events: frozenset[WebhookEvent]) -> tuple[str, ...]:
    """The types of entries to look for."""
    return tuple(sorted(_TOLD[event].entry for event in events))


def event_of(entry_type: str) -> WebhookEvent:
    """The event that an entry of this type is."""
    return _EVENTS[entry_type]


def body_of(source: Source) -> str:
    """The exact text that is signed and sent; it is kept, so that every attempt sends the same bytes."""
    header = source.header
    event = event_of(header["type"])
    told = _TOLD[event]
    subject, context, facts = header["subject"], header["context"], header["facts"]
    data = {
        "organization": str(source.organization),
        subject["kind"]: subject["id"],
        **{name: context[name] for name in _CONTEXT if name in context},
        **({"status": told.status} if told.status else {}),
        **{name: facts[fact] for fact, name in told.facts.items() if fact in facts},
        "entry": str(source.entry),
        "seq": source.seq,
    }
    return _text(event.value, header["recorded_at"], data)


def body_of_test(*, organization: UUID, endpoint: UUID, now: datetime) -> str:
    """An event that stands for nothing, to see whether it arrives."""
    return _text(TEST, timestamp(now), {"organization": str(organization), "endpoint": str(endpoint)})


def _text(event: str, moment: str, data: Mapping[str, Any]) -> str:
    return json.dumps({"type": event, "timestamp": moment, "data": data}, sort_keys=True, separators=(",", ":"))


def chosen(names: object) -> frozenset[WebhookEvent]:
    """The events that a person chose; raises Invalid where one is none, or where there is none."""
    if not isinstance(names, list | tuple | set | frozenset) or not names:
        raise Invalid(events="choose at least one")
    known = {event.value for event in WebhookEvent}
    if not {str(name) for name in names} <= known:
        raise Invalid(events=f"must be among {', '.join(sorted(known))}")
    return frozenset(WebhookEvent(str(name)) for name in names)
