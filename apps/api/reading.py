"""Rows as dictionaries with the fields of a shape, ready to be JSON: read by hand-written statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection, models
from django.db.models import Field, Model

from apps.api.shapes.base import Shape
from apps.ledger.queries import Query
from apps.ledger.queries import Rows as Tuples
from apps.ledger.rows import Condition, column, equal, every, kind_of, table
from apps.ledger.sql import document

_ZERO = "+00:00"


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a table. Every method gives another one, or a query that may be asked."""

    model: type[Model]
    conditions: tuple[Condition, ...] = ()

    def where(self, **values: Any) -> Rows:
        """Those that hold these values in the fields of these names."""
        found = (equal(column(self.model, name), value) for name, value in values.items())
        return replace(self, conditions=(*self.conditions, *found))

    def having(self, condition: Condition) -> Rows:
        """Those of which the condition is true as well."""
        return replace(self, conditions=(*self.conditions, condition))

    def all(self, shape: type[Shape], *, order: str, limit: int | None = None) -> Query[list[dict[str, Any]]]:
        """In the order of columns, which whoever calls wrote: never a text from outside."""
        head, read = _head(self.model, shape)
        held = every(self.conditions)
        last = "" if limit is None else f" LIMIT {limit:d}"
        return Query(f"{head} WHERE {held.sql} ORDER BY {order}{last}", held.parameters, read)

    def one(self, shape: type[Shape]) -> dict[str, Any] | None:
        """The row, where there is one."""
        found = self.all(shape, order="id", limit=1).ask()
        return found[0] if found else None


_Head = tuple[str, Callable[[Tuples], list[dict[str, Any]]]]
_heads: dict[tuple[type[Model], type[Shape]], _Head] = {}


def _head(model: type[Model], shape: type[Shape]) -> _Head:
    """The beginning of the statement that reads a shape, and what makes its dictionaries of the rows; made once."""
    found = _heads.get((model, shape))
    return found if found is not None else _heads.setdefault((model, shape), _made(model, shape))


def _made(model: type[Model], shape: type[Shape]) -> _Head:
    fields = {name: _source(model, field.source or name) for name, field in shape().fields.items()}
    names = list(fields)
    readers = [
        (place, reader) for place, (_, kind) in enumerate(fields.values()) if (reader := _reader(kind)) is not None
    ]

    def read(rows: Tuples) -> list[dict[str, Any]]:
        if not rows:
            return []
        columns: list[Any] = list(zip(*rows, strict=True))
        for place, reader in readers:
            columns[place] = [value if value is None else reader(value) for value in columns[place]]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    return f"SELECT {', '.join(text for text, _ in fields.values())} FROM {table(model)}", read  # noqa: S608 our names


def _source(model: type[Model], source: str, here: str = "") -> tuple[str, Field[Any, Any]]:
    """The column that a field of a shape is read from, here or in the one row at the other end of a relation."""
    name, _, behind = source.partition(".")
    found: Any = model._meta.get_field(name)  # noqa: SLF001 Django's documented name
    if not behind:
        kind = kind_of(found)
        return _as_text(column(model, name), kind), kind
    other = found.related_model
    here = here or table(model)
    there = f"{here}_{name}"
    inner, kind = _source(other, behind, there)
    ends = ("id", found.column) if isinstance(found, Field) else (found.field.column, "id")
    link = f"{there}.{ends[0]} = {here}.{ends[1]}"
    return f"(SELECT {inner} FROM {table(other)} {there} WHERE {link})", kind  # noqa: S608 names of ours


def _as_text(name: str, kind: Field[Any, Any]) -> str:
    """SQLite's driver would make a moment of the very text that is wanted; what is no plain column it leaves alone."""
    plain = connection.vendor != "sqlite" or not isinstance(kind, models.DateTimeField)
    return name if plain else f"{name} || ''"


def _reader(kind: Field[Any, Any]) -> Callable[[Any], Any] | None:
    return next((read for of, read in _READERS if isinstance(kind, of)), None)


def _id(value: UUID | str) -> str:
    """As SQLite keeps it, or as PostgreSQL's driver reads it."""
    if isinstance(value, UUID):
        return str(value)
    return f"{value[:8]}-{value[8:12]}-{value[12:16]}-{value[16:20]}-{value[20:]}"


def _time(value: datetime | str) -> str:
    """As the framework writes a time, in UTC; SQLite keeps all but the T and the Z."""
    if isinstance(value, str):
        return f"{value[:10]}T{value[11:].removesuffix(_ZERO)}Z"
    return value.astimezone(UTC).isoformat().removesuffix(_ZERO) + "Z"


def _json(value: Any) -> Any:
    return [] if value == "[]" else document(value)


_READERS: tuple[tuple[type[Field[Any, Any]], Callable[[Any], Any]], ...] = (
    (models.UUIDField, _id),
    (models.DateTimeField, _time),
    (models.JSONField, _json),
    (models.BooleanField, bool),
)
