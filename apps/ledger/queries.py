"""Queries as values, so that several can be asked at once: on PostgreSQL they travel together.

A way to the server and back costs more than most of the queries that every transition makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from apps.ledger.sql import Statements, together

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Query(Generic[T]):
    """A hand-written statement, and what its rows mean."""

    statement: str
    parameters: Sequence[Any]
    read: Callable[[Rows], T]

    def ask(self) -> T:
        """The answer to this query alone."""
        return self.send().answer()

    def send(self) -> Sent[T]:
        """Sends the query along with what else `together()` sends; the answer is there behind that block."""
        database = Statements().__enter__()
        database.send(self.statement, self.parameters)
        return Sent(database, self.read)


class Question(Generic[T]):
    """A query for the moment behind a commit: `Recorder.ask_behind` has it travel with the commit where it can."""

    __slots__ = ("_query", "_sent")

    def __init__(self, query: Query[T]) -> None:
        self._query = query
        self._sent: Sent[T] | None = None

    def send(self) -> None:
        """Sends it along with what else `together()` sends, unless it has been sent."""
        self._sent = self._sent or self._query.send()

    def answer(self) -> T:
        """What the rows mean, asked for now where it has not been sent; to be called once."""
        self.send()
        assert self._sent is not None
        return self._sent.answer()


class Sent(Generic[T]):
    """A query on its way."""

    __slots__ = ("_database", "_read")

    def __init__(self, database: Statements, read: Callable[[Rows], T]) -> None:
        self._database, self._read = database, read

    def answer(self) -> T:
        """What the rows mean; to be asked for once."""
        try:
            return self._read(self._database.rows())
        finally:
            self._database.close()


@overload
def ask(first: Query[A], second: Query[B], /) -> tuple[A, B]: ...
@overload
def ask(first: Query[A], second: Query[B], third: Query[C], /) -> tuple[A, B, C]: ...
@overload
def ask(first: Query[A], second: Query[B], third: Query[C], fourth: Query[D], /) -> tuple[A, B, C, D]: ...


def ask(*queries: Query[Any]) -> tuple[Any, ...]:
    """The answers to several queries, which the database sees one after the other in this order.

    One that locks goes first: those behind it are answered when the lock is held.
    """
    with together():
        sent = [query.send() for query in queries]
    return tuple(one.answer() for one in sent)
