"""Hand-written statements through Django's own connection, for the few places that every transition passes.

The object mapper costs several times what SQLite itself does, and PostgreSQL plans what it gets through Django's
cursors anew each time; see benchmarks/dag.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, NoReturn, Self
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_ONE_ROW = re.compile(r"(.* VALUES )(\(%s(?:, %s)*\))((?: ON CONFLICT [^%]*)?)")
_ROWS_AT_ONCE = 500
_PLANNED_AT = 3
_ONE_BY_ONE = nullcontext()
_PLAIN = frozenset({str, int, bool, type(None)})
_NATIVE = {"sqlite": _PLAIN, "postgresql": _PLAIN | {UUID, datetime}}


def listened_to(database: BaseDatabaseWrapper) -> bool:
    """Somebody wants to see the statements of this connection, so that none may pass Django by."""
    return bool(database.queries_logged or database.execute_wrappers)


class Statements:
    """Several statements over one cursor: `with Statements() as database`.

    That is the driver's own cursor, by which PostgreSQL keeps the plan of what it is often asked and SQLite is spared
    what Django's costs; Django's stays wherever somebody listens to the statements.
    """

    __slots__ = ("_answer", "_cursor", "_database", "_direct", "_native", "vendor")

    def __init__(self) -> None:
        database: Any = connections[DEFAULT_DB_ALIAS]  # each kind has the errors of its driver
        self._database = database
        self.vendor = database.vendor
        self._native = _NATIVE[self.vendor]
        self._direct = not listened_to(database)
        self._cursor: Any = None
        self._answer: _Answer | None = None

    def __enter__(self) -> Self:
        if self._direct:
            _ready(self._database)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._database.wrap_database_errors.__exit__(kind, error, trace)

    def close(self) -> None:
        """For whoever leaves no block."""
        if self._cursor is not None:
            self._cursor.close()

    def fetch(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        self.send(statement, parameters)
        return self.rows()

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Runs a statement and returns how many rows it touched; 0 inside `together()`, where nobody knows yet."""
        self.send(statement, parameters)
        return int(self._cursor.rowcount) if self._answer is None else 0

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Runs one statement for every row."""
        if len(rows) == 1:
            self.send(statement, rows[0])
        elif rows and not self._one_by_one and (insert := _ONE_ROW.fullmatch(statement)):
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                self._insert(insert, rows[start : start + _ROWS_AT_ONCE])
        elif _batch.get() is not None:
            for row in rows:
                self.send(statement, row)
        elif rows:
            prepared, cursor = [self._parameters(row) for row in rows], self._open()
            with _planned_once(self._database):
                cursor.executemany(self._spelled(statement), prepared)

    def send(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Runs a statement; inside `together()` its rows may be asked for only behind the block."""
        batch = _batch.get()
        if batch is not None:
            self._answer = batch.add(statement, self._parameters(parameters))
            return
        self._answer = None
        cursor = self._open()
        try:
            with _planned_once(self._database):
                cursor.execute(self._spelled(statement), self._parameters(parameters))
        except self._database.Database.Error as error:
            self._raise_as_djangos(error)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows of what was sent."""
        if self._answer is not None:
            return self._answer.read()
        try:
            rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        except self._database.Database.Error as error:
            self._raise_as_djangos(error)
        return rows

    def _raise_as_djangos(self, error: Exception) -> NoReturn:
        """The driver's own cursor raises the driver's own errors."""
        self._database.wrap_database_errors.__exit__(type(error), error, error.__traceback__)
        raise error

    def _insert(self, insert: re.Match[str], rows: Sequence[Sequence[Any]]) -> None:
        """One INSERT for many rows: one way to the server and back instead of one for each."""
        head, values, rest = insert.groups()
        self.send(head + ", ".join([values] * len(rows)) + rest, [value for row in rows for value in row])

    def _open(self) -> Any:
        if self._cursor is None:
            self._cursor = _drivers_cursor(self._database) if self._direct else self._database.cursor()
        return self._cursor

    @property
    def _one_by_one(self) -> bool:
        """Many rows are many statements: the way to SQLite is short."""
        return self._direct and self.vendor == "sqlite"

    def _spelled(self, statement: str) -> str:
        return _bare(statement) if self._one_by_one else statement

    def _parameters(self, values: Iterable[Any]) -> list[Any]:
        """Python values as the database takes them: ids, times and JSON documents differ between the two."""
        native = self._native
        return [value if value.__class__ in native else _parameter(self._database, value) for value in values]


class _Answer:
    """The rows of one statement of a batch, once it has run."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] | None = None

    def read(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            raise RuntimeError("what is sent together is answered behind the block")
        return self._rows

    def fill(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows


class _Batch:
    """Statements that go to the server one behind the other, before the first of them is answered.

    The server sees them one after the other, each with a view of its own on what others have committed.
    """

    def __init__(self) -> None:
        self._sent: list[tuple[str, Sequence[Any], _Answer]] = []

    def add(self, statement: str, parameters: Sequence[Any]) -> _Answer:
        answer = _Answer()
        self._sent.append((statement, parameters, answer))
        return answer

    def run(self) -> None:
        if not self._sent:
            return
        database = connections[DEFAULT_DB_ALIAS]
        if listened_to(database):
            self._run_as_one(database)
        else:
            _ready(database)
            with database.wrap_database_errors:
                self._run_prepared(database)

    def _run_prepared(self, database: BaseDatabaseWrapper) -> None:
        cursors = [_drivers_cursor(database) for _ in self._sent]
        with _planned_once(database), database.connection.pipeline():
            for cursor, (statement, parameters, _) in zip(cursors, self._sent, strict=True):
                cursor.execute(statement, parameters)
        for cursor, (_, _, answer) in zip(cursors, self._sent, strict=True):
            answer.fill(cursor.fetchall() if cursor.pgresult.nfields else [])

    def _run_as_one(self, database: BaseDatabaseWrapper) -> None:
        """As one text, which whoever listens hears of once."""
        values = [value for _, parameters, _ in self._sent for value in parameters]
        with database.cursor() as cursor:
            cursor.execute(";\n".join(statement for statement, _, _ in self._sent), values)
            for place, (_, _, answer) in enumerate(self._sent):
                if place:
                    cursor.nextset()
                answer.fill(cursor.fetchall() if cursor.description else [])


_batch: ContextVar[_Batch | None] = ContextVar("batch", default=None)


@lru_cache(maxsize=256)
def _bare(statement: str) -> str:
    """A statement in the form that SQLite's driver takes."""
    return statement.replace("%s", "?").replace("%%", "%")


def _ready(database: BaseDatabaseWrapper) -> None:
    """What Django does before it gives out a cursor."""
    database.close_if_health_check_failed()
    database.ensure_connection()
    database.validate_no_broken_transaction()


def _drivers_cursor(database: BaseDatabaseWrapper) -> Any:
    if database.vendor == "sqlite":
        return database.connection.cursor()
    from psycopg import Cursor

    return Cursor(database.connection)


class _planned_once:  # noqa: N801 reads as a statement, and a class costs less to enter than a generator
    """What is sent inside is planned once it has been asked some times on this connection.

    Only that: of what Django sends the driver would keep every text with its values. After an error the driver may
    believe in a plan that the server has not, which a rollback ends and, where there is none, a new connection.
    """

    __slots__ = ("_database",)

    def __init__(self, database: BaseDatabaseWrapper) -> None:
        self._database = database

    def __enter__(self) -> None:
        if self._database.vendor == "postgresql":
            self._database.connection.prepare_threshold = _PLANNED_AT

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._database.vendor != "postgresql":
            return
        self._database.connection.prepare_threshold = None
        if error is not None and not self._database.in_atomic_block:
            self._database.close()


def together() -> AbstractContextManager[object]:
    """Statements whose results nobody waits for: on PostgreSQL they travel as one.

    What is wrong with one of them is raised at the end of the block. A block inside another one joins it.
    """
    joined = connections[DEFAULT_DB_ALIAS].vendor != "postgresql" or _batch.get() is not None
    return _ONE_BY_ONE if joined else _batched()


@contextmanager
def _batched() -> Iterator[None]:
    batch = _Batch()
    token = _batch.set(batch)
    try:
        yield
    finally:
        _batch.reset(token)
    batch.run()


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


def for_update(*, no_key: bool = False) -> str:
    """Locks the rows of a SELECT where the database has row locks; SQLite has one writer anyway.

    With `no_key` others may go on to point at them. Which table comes before which says tests/support/lock_order.py.
    """
    if connection.vendor != "postgresql":
        return ""
    return " FOR NO KEY UPDATE" if no_key else " FOR UPDATE"


def stored(values: Iterable[Any]) -> list[Any]:
    """Python values as the database takes them."""
    return [_parameter(connections[DEFAULT_DB_ALIAS], value) for value in values]


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
