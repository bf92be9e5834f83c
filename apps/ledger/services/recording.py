"""recording(): the one way to open a writing transaction. Its entries are the last statements before the commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any
from uuid import UUID

from apps.ledger.ids import new_id
from apps.ledger.queries import Question
from apps.ledger.sealing import SealedField, seal_fields
from apps.ledger.services.append import Late, append, write_late
from apps.ledger.writing import writing
from tikitaka.ledger.entries import SYSTEM, Actor, Draft
from tikitaka.ledger.events import KNOWN_TYPES, Event


@dataclass(slots=True)
class _Buffer:
    organization: UUID
    drafts: list[Draft] = field(default_factory=list)
    sealed: list[SealedField] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    behind: list[Question[Any]] = field(default_factory=list)


_open: ContextVar[_Buffer | None] = ContextVar("open_recording", default=None)
_first: ContextVar[list[Callable[[], object]] | None] = ContextVar("first_transaction", default=None)


class Recorder:
    """Takes events; they become entries when the outermost recording() ends without an error."""

    def __init__(self, buffer: _Buffer, actor: Actor) -> None:
        self._buffer = buffer
        self._actor = actor

    def write_late(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Runs `statement` for every row before the transaction ends: nobody may read what it writes before that."""
        if rows:
            self._buffer.late.append((statement, rows))

    def ask_behind(self, *questions: Question[Any]) -> None:
        """What somebody wants to know once the transaction has ended; sent with the commit where that travels."""
        self._buffer.behind.extend(questions)

    def record(self, *events: Event, actor: Actor | None = None, occurred_at: datetime | None = None) -> None:
        """Adds entries for `events`, in order; personal fields are sealed under the actor's key."""
        actor = actor or self._actor
        for event in events:
            if event.type not in KNOWN_TYPES:
                raise ValueError(f"unknown type of entry: {event.type!r}")
            entry = new_id()
            sealed = seal_fields(entry, event.sealed_values(), subject=actor.id) if event.sealed else []
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
def first_transaction(write: Callable[[], object]) -> Iterator[None]:
    """Has `write` called at the beginning of the first recording inside the block, in its transaction, once.

    Where that transaction is rolled back, it is called again in the next. Refusals are recorded without it.
    """
    token = _first.set([write])
    try:
        yield
    finally:
        _first.reset(token)


@contextmanager
def aside() -> Iterator[None]:
    """A recording inside is not what somebody waits for with `first_transaction`: a denial, a refused decision."""
    token = _first.set([])
    try:
        yield
    finally:
        _first.reset(token)


class recording:  # noqa: N801 reads as a statement, and a class costs less to enter than a generator
    """A transaction whose entries go to the organization's log. Nested uses join the outermost one.

    Append late: the head of the log is locked only for the moment before the commit.
    """

    __slots__ = ("_actor", "_buffer", "_first", "_organization", "_token", "_writing")

    def __init__(self, organization: UUID, *, actor: Actor = SYSTEM) -> None:
        self._organization = organization
        self._actor = actor
        self._token: Token[_Buffer | None] | None = None
        self._first: list[Callable[[], object]] = []

    def __enter__(self) -> Recorder:
        outer = _open.get()
        if outer is not None:
            if outer.organization != self._organization:
                raise RuntimeError("a transaction belongs to one organization")
            return Recorder(outer, self._actor)
        self._buffer = _Buffer(self._organization)
        self._writing = writing()
        self._writing.__enter__()
        self._token = _open.set(self._buffer)
        waiting = _first.get()
        if waiting:
            try:
                waiting[0]()
            except BaseException as failure:
                self.__exit__(type(failure), failure, failure.__traceback__)
                raise
            self._first, waiting[:] = list(waiting), []
        return Recorder(self._buffer, self._actor)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is None:
            return
        if error is not None:
            self._give_back()
        try:
            if error is None and self._buffer.drafts:
                append(
                    self._organization,
                    self._buffer.drafts,
                    self._buffer.sealed,
                    late=self._buffer.late,
                    commit=self._writing.commit_may_travel(),
                    behind=self._buffer.behind,
                )
            elif error is None:
                write_late(self._buffer.late)
        except BaseException as failure:
            kind, error, trace = type(failure), failure, failure.__traceback__
            self._give_back()
            raise
        finally:
            try:
                self._writing.__exit__(kind, error, trace)
            finally:
                _open.reset(self._token)

    def _give_back(self) -> None:
        """What was written first has been rolled back with the rest."""
        waiting = _first.get()
        if waiting is not None and self._first:
            waiting[:] = self._first
