"""Hand-written statements through Django's own connection, for the few places that every transition passes.

The object mapper costs several times what SQLite itself does; see benchmarks/dag.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection

_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


def fetch(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(statement, _parameters(parameters))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def execute(statement: str, parameters: Sequence[Any] = ()) -> int:
    """Runs a statement and returns how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, _parameters(parameters))
        return int(cursor.rowcount)


def execute_many(statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """Runs one statement for every row."""
    prepared = [_parameters(row) for row in rows]
    if prepared:
        with connection.cursor() as cursor:
            cursor.executemany(statement, prepared)


def marks(values: Sequence[Any]) -> str:
    """The placeholders of an IN list."""
    return ", ".join(["%s"] * len(values))


def for_update() -> str:
    """Locks the rows of a SELECT where the database has row locks; SQLite has one writer anyway."""
    return " FOR UPDATE" if connection.vendor == "postgresql" else ""


def _parameters(values: Iterable[Any]) -> list[Any]:
    """Python values as the database takes them: ids, times and JSON documents differ between the two."""
    return [value if value.__class__ in _AS_THEY_ARE else _parameter(value) for value in values]


def _parameter(value: Any) -> Any:
    if isinstance(value, UUID):
        return value if connection.features.has_native_uuid_field else value.hex
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
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
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
