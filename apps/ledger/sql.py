"""Hand-written statements through Django's own connection, for the few places that every transition passes.

The object mapper costs several times what SQLite itself does; see benchmarks/dag.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_ONE_ROW = re.compile(r"(.* VALUES )(\(%s(?:, %s)*\))((?: ON CONFLICT [^%]*)?)")
_ROWS_AT_ONCE = 500
_ONE_BY_ONE = nullcontext()
_PLAIN = frozenset({str, int, bool, type(None)})
_NATIVE = {"sqlite": _PLAIN, "postgresql": _PLAIN | {UUID, datetime}}


def listened_to(database: BaseDatabaseWrapper) -> bool:
    """Somebody wants to see the statements of this connection, so that none may pass Django by."""
    return bool(database.queries_logged or database.execute_wrappers)


class Statements:
    """Several statements over one cursor: `with Statements() as database`.

    Inside a transaction on SQLite that is the driver's own cursor, since Django's costs more than a short statement
    itself; Django's stays wherever somebody listens to the statements.
    """

    __slots__ = ("_cursor", "_database", "_direct", "_native", "vendor")

    def __enter__(self) -> Self:
        database = self._database = connections[DEFAULT_DB_ALIAS]
        self.vendor = database.vendor
        self._direct = self.vendor == "sqlite" and database.in_atomic_block and not listened_to(database)
        if self._direct:
            database.validate_no_broken_transaction()
            self._cursor: Any = database.connection.cursor()
        else:
            self._cursor = database.cursor()
        self._native = _NATIVE[self.vendor]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._database.wrap_database_errors.__exit__(kind, error, trace)

    def close(self) -> None:
        """For whoever leaves no block."""
        self._cursor.close()

    def fetch(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        self.send(statement, parameters)
        return self.rows()

    def send(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """A query whose rows are read later, when what travels together has arrived."""
        self._run(statement, parameters)

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows of the query that was sent."""
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        return rows

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Runs a statement and returns how many rows it touched."""
        self._run(statement, parameters)
        return int(self._cursor.rowcount)

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Runs one statement for every row."""
        if len(rows) == 1:
            self._run(statement, rows[0])
        elif rows and not self._direct and (insert := _ONE_ROW.fullmatch(statement)):
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                self._insert(insert, rows[start : start + _ROWS_AT_ONCE])
        elif rows:
            prepared = [self._parameters(row) for row in rows]
            self._cursor.executemany(_bare(statement) if self._direct else statement, prepared)

    def _insert(self, insert: re.Match[str], rows: Sequence[Sequence[Any]]) -> None:
        """One INSERT for many rows: one way to the server and back instead of one for each."""
        head, values, rest = insert.groups()
        self._run(head + ", ".join([values] * len(rows)) + rest, [value for row in rows for value in row])

    def _run(self, statement: str, parameters: Sequence[Any]) -> None:
        statement = _bare(statement) if self._direct else statement
        self._cursor.execute(statement, self._parameters(parameters))

    def _parameters(self, values: Iterable[Any]) -> list[Any]:
        """Python values as the database takes them: ids, times and JSON documents differ between the two."""
        native = self._native
        return [value if value.__class__ in native else _parameter(self._database, value) for value in values]


@lru_cache(maxsize=256)
def _bare(statement: str) -> str:
    """A statement in the form that SQLite's driver takes."""
    return statement.replace("%s", "?").replace("%%", "%")


def together() -> AbstractContextManager[object]:
    """Statements whose results nobody waits for: on PostgreSQL they travel as one; none of them may be read from.

    What is wrong with one of them is raised at the end of the block.
    """
    database = connections[DEFAULT_DB_ALIAS]
    return _pipelined(database) if database.vendor == "postgresql" else _ONE_BY_ONE


@contextmanager
def _pipelined(database: BaseDatabaseWrapper) -> Iterator[None]:
    database.ensure_connection()
    with database.wrap_database_errors, database.connection.pipeline():
        yield


def fetch(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with Statements() as database:
        return database.fetch(statement, parameters)


def execute(statement: str, parameters: Sequence[Any] = ()) -> int:
    """Runs a statement and returns how many rows it touched."""
    with Statements() as database:
        return database.execute(statement, parameters)


def execute_many(statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """Runs one statement for every row."""
    with Statements() as database:
        database.execute_many(statement, list(rows))


def marks(values: Sequence[Any]) -> str:
    """The placeholders of an IN list."""
    return ", ".join(["%s"] * len(values))


def for_update() -> str:
    """Locks the rows of a SELECT where the database has row locks; SQLite has one writer anyway."""
    return " FOR UPDATE" if connection.vendor == "postgresql" else ""


def _parameter(database: BaseDatabaseWrapper, value: Any) -> Any:
    if isinstance(value, UUID):
        return value.hex if database.vendor == "sqlite" else value
    if isinstance(value, datetime):
        if value.tzinfo is UTC and database.vendor == "sqlite":
            return str(value)[:-6]  # what Django makes of it too, at a tenth of the cost
        return database.ops.adapt_datetimefield_value(value)
    if isinstance(value, dict | list):
        return json.dumps(value)
    return value


def as_uuid(value: UUID | str) -> UUID:
    """An id as it came from the database."""
    return value if isinstance(value, UUID) else UUID(value)


def document(value: Any) -> Any:
    """A JSON column as it came from the database."""
    return json.loads(value) if isinstance(value, str) else value


def as_moment(value: datetime | str | None) -> datetime | None:
    """A time as it came from the database, in UTC."""
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
