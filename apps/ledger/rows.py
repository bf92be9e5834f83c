"""Rows by hand-written statements: what a column means is its model's to say, which rows is for whoever asks.

For what every request reads or writes; the object mapper makes its statement anew each time, which costs more than to
run it. See benchmarks/rest.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, models
from django.db.models import Field, Model
from django.db.models.expressions import RawSQL

from apps.ledger.queries import Query, Rows
from apps.ledger.sql import as_moment, as_uuid, document, execute_many, fetch, for_update, stored

M = TypeVar("M", bound=Model)
Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of SQL that is true of some rows, with its parameters."""

    sql: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Ids:
    """A SELECT of ids, to stand behind IN."""

    sql: str
    parameters: tuple[Any, ...] = ()

    def hold(self, column: str) -> Condition:
        """True of rows whose `column` is among them."""
        return Condition(f"{column} IN ({self.sql})", self.parameters)

    def expression(self) -> RawSQL:
        """The same for the object mapper: `pk__in=ids.expression()`."""
        return RawSQL(self.sql, stored(self.parameters))  # noqa: S611 no text from outside is in it


def ids_of(model: type[Model], condition: Condition) -> Ids:
    """The ids of the rows of `model` of which `condition` is true."""
    return Ids(f"SELECT id FROM {table(model)} WHERE {condition.sql}", condition.parameters)  # noqa: S608 no text from outside


def equal(column: str, value: Any) -> Condition:
    """True of rows that hold `value`, or nothing where that is None."""
    return Condition(f"{column} IS NULL") if value is None else Condition(f"{column} = %s", (value,))


def every(conditions: Iterable[Condition]) -> Condition:
    """True of rows of which all of them are."""
    known = list(conditions)
    return Condition(
        " AND ".join(f"({one.sql})" for one in known) or "TRUE",
        tuple(value for one in known for value in one.parameters),
    )


def either(first: Condition, second: Condition) -> Condition:
    """True of rows of which one of them is."""
    return Condition(f"({first.sql}) OR ({second.sql})", first.parameters + second.parameters)


def table(model: type[Model]) -> str:
    """The table of a model."""
    return model._meta.db_table  # noqa: SLF001 Django's documented name


@lru_cache(maxsize=512)
def column(model: type[Model], name: str) -> str:
    """The column of the field of this name, in quotes: some of them are words of the language."""
    field = model._meta.get_field(name)  # noqa: SLF001 Django's documented name
    assert isinstance(field, Field)
    return f'"{field.column}"'


def instances(model: type[M], condition: Condition, *, order: str = "", lock: bool = False) -> Query[list[M]]:
    """The rows of which `condition` is true, as models; with `lock` nobody else changes them until the commit.

    `order` is columns that whoever calls wrote: never a text from outside.
    """
    head, names, readers = _whole(model)
    end = (f" ORDER BY {order}" if order else "") + (for_update() if lock else "")

    def read(rows: Rows) -> list[M]:
        return [model.from_db(DEFAULT_DB_ALIAS, names, values_of(row, readers)) for row in rows]

    return Query(f"{head} WHERE {condition.sql}{end}", condition.parameters, read)


def led(model: type[M], condition: Condition, path: str) -> Query[list[M]]:
    """Such rows with what `path` leads to, one foreign key after the other, already there."""
    head, joins, steps = _chain(model, path)

    def read(rows: Rows) -> list[M]:
        return [_linked(row, steps) for row in rows]

    chosen = f"(SELECT * FROM {table(model)} WHERE {condition.sql}) r0"  # noqa: S608 no text from outside is in it
    return Query(f"{head} FROM {chosen}{joins}", condition.parameters, read)


@dataclass(frozen=True, slots=True)
class _Step:
    """One model of a chain: by which name the one before leads to it, and its part of a row."""

    model: type[Model]
    name: str
    start: int
    names: list[str]
    readers: list[tuple[int, Read]]

    def row(self, values: Sequence[Any]) -> Model | None:
        mine = values_of(values[self.start : self.start + len(self.names)], self.readers)
        return self.model.from_db(DEFAULT_DB_ALIAS, self.names, mine) if mine[0] is not None else None


@lru_cache(maxsize=128)
def _chain(model: type[Model], path: str) -> tuple[str, str, list[_Step]]:
    steps: list[_Step] = []
    columns: list[str] = []
    joins = ""
    here: Any = model
    for number, name in enumerate(["", *path.split("__")]):
        if name:
            key = column(here, name)
            here = here._meta.get_field(name).related_model  # noqa: SLF001 Django's documented name
            joins += f" LEFT JOIN {table(here)} r{number} ON r{number}.id = r{number - 1}.{key}"
        _, names, readers = _whole(here)
        steps.append(_Step(here, name, len(columns), names, readers))
        columns += [f"r{number}.{column(here, field.name)}" for field in here._meta.concrete_fields]  # noqa: SLF001
    return f"SELECT {', '.join(columns)}", joins, steps


def _linked(row: Sequence[Any], steps: Sequence[_Step]) -> Any:
    first = here = steps[0].row(row)
    for step in steps[1:]:
        there = step.row(row)
        setattr(here, step.name, there)
        if there is None:
            break
        here = there
    return first


def refresh(row: Model) -> None:
    """Reads the columns of a row anew. What it leads to stays known for as long as it leads there."""
    head, names, readers = _whole(type(row))
    (values,) = fetch(f"{head} WHERE id = %s", [row.pk])
    before = dict(row.__dict__)
    row.__dict__ |= zip(names, values_of(values, readers), strict=True)
    for field in row._meta.concrete_fields:  # noqa: SLF001 Django's documented name
        moved = before.get(field.attname) != row.__dict__[field.attname]
        if moved and isinstance(field, models.ForeignKey) and field.is_cached(row):
            field.delete_cached_value(row)


def insert(*rows: Model) -> None:
    """Saves new rows of one model, whose defaults are set. A key that the database makes is not read back."""
    model = type(rows[0])
    statement, fields = _new(model)
    execute_many(statement, [[_written(field, row) for field in fields] for row in rows])
    for row in rows:
        row._state.adding = row.pk is None  # noqa: SLF001 what Django's own saving does


@lru_cache(maxsize=128)
def _new(model: type[Model]) -> tuple[str, list[Field[Any, Any]]]:
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]  # noqa: SLF001
    names = ", ".join(column(model, field.name) for field in fields)
    marked = ", ".join(["%s"] * len(fields))
    return f"INSERT INTO {table(model)} ({names}) VALUES ({marked})", fields  # noqa: S608 names of ours


def _written(field: Field[Any, Any], row: Model) -> Any:
    value = getattr(row, field.attname)
    return json.dumps(value) if value is not None and isinstance(field, models.JSONField) else value


def values_of(row: Sequence[Any], readers: Sequence[tuple[int, Read]]) -> list[Any]:
    """A row with those of its columns read that the driver leaves as the database has them."""
    values = list(row)
    for place, read in readers:
        if values[place] is not None:
            values[place] = read(values[place])
    return values


@lru_cache(maxsize=128)
def _whole(model: type[Model]) -> tuple[str, list[str], list[tuple[int, Read]]]:
    fields = model._meta.concrete_fields  # noqa: SLF001 Django's documented name
    head = f"SELECT {', '.join(column(model, field.name) for field in fields)} FROM {table(model)}"  # noqa: S608
    readers = [(place, read) for place, field in enumerate(fields) if (read := _reader(field)) is not None]
    return head, [field.attname for field in fields], readers


def kind_of(field: Field[Any, Any]) -> Field[Any, Any]:
    """The field whose values a column holds: that of the row which it points at, where it points at one."""
    return kind_of(field.target_field) if isinstance(field, models.ForeignKey) else field


def _reader(field: Field[Any, Any]) -> Read | None:
    kind = kind_of(field)
    for of, read in _READERS:
        if isinstance(kind, of):
            return read
    return None


_READERS: tuple[tuple[type[Field[Any, Any]], Read], ...] = (
    (models.UUIDField, as_uuid),
    (models.DateTimeField, as_moment),
    (models.JSONField, document),
    (models.BooleanField, bool),
)
