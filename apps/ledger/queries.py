"""Queries as values, so that several can be asked at once: on PostgreSQL they travel together.

A way to the server and back costs more than most of the queries that every transition makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from django.db import connection

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
        with Statements() as database:
            return self.read(database.fetch(self.statement, self.parameters))


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
    if connection.vendor != "postgresql":
        return tuple(query.ask() for query in queries)
    with ExitStack() as stack:
        asked = [stack.enter_context(Statements()) for _ in queries]
        with together():
            for database, query in zip(asked, queries, strict=True):
                database.send(query.statement, query.parameters)
        return tuple(query.read(database.rows()) for database, query in zip(asked, queries, strict=True))
