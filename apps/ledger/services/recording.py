"""recording(): the one way to open a writing transaction. Its entries are the last statements before the commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from apps.ledger.ids import new_id
from apps.ledger.sealing import SealedField, seal_fields
from apps.ledger.services.append import append
from apps.ledger.writing import writing
from tikitaka.ledger.entries import SYSTEM, Actor, Draft
from tikitaka.ledger.events import KNOWN_TYPES, Event


@dataclass(slots=True)
class _Buffer:
    organization: UUID
    drafts: list[Draft] = field(default_factory=list)
    sealed: list[SealedField] = field(default_factory=list)


_open: ContextVar[_Buffer | None] = ContextVar("open_recording", default=None)


class Recorder:
    """Takes events; they become entries when the outermost recording() ends without an error."""

    def __init__(self, buffer: _Buffer, actor: Actor) -> None:
        self._buffer = buffer
        self._actor = actor

    def record(self, *events: Event, actor: Actor | None = None, occurred_at: datetime | None = None) -> None:
        """Adds entries for `events`, in order; personal fields are sealed under the actor's key."""
        actor = actor or self._actor
        for event in events:
            if event.type not in KNOWN_TYPES:
                raise ValueError(f"unknown type of entry: {event.type!r}")
            entry = new_id()
            sealed = seal_fields(entry, event.sealed_values(), subject=actor.id)
            self._buffer.sealed.extend(sealed)
            self._buffer.drafts.append(
                Draft(
                    id=entry,
                    type=event.type,
                    occurred_at=occurred_at or datetime.now(UTC),
                    actor=actor,
                    subject=event.subject_json(),
                    context=event.context_json(),
                    facts=event.facts_json(),
                    commitments={item.field: item.commitment for item in sealed},
                )
            )


@contextmanager
def recording(organization: UUID, *, actor: Actor = SYSTEM) -> Iterator[Recorder]:
    """A transaction whose entries go to the organization's log. Nested uses join the outermost one.

    Append late: the head of the log is locked only for the moment before the commit.
    """
    outer = _open.get()
    if outer is not None:
        if outer.organization != organization:
            raise RuntimeError("a transaction belongs to one organization")
        yield Recorder(outer, actor)
        return
    buffer = _Buffer(organization)
    token = _open.set(buffer)
    try:
        with writing():
            yield Recorder(buffer, actor)
            if buffer.drafts:
                append(organization, buffer.drafts, buffer.sealed)
    finally:
        _open.reset(token)
