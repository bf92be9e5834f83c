"""Copying into the target. What it holds is the progress: a table goes on behind the last row that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any

from django.core.management.color import no_style
from django.db import DatabaseError, connections, transaction

from apps.audit.moving.ends import MADE_BY_MIGRATION, SOURCE, TARGET, ForeignTarget, reason
from apps.audit.moving.tables import Row, Table
from tikitaka.errors import TikiTakaError

BATCH = 1_000


class RowRefused(TikiTakaError):
    """PostgreSQL does not take a row that SQLite took."""

    code = "move_row_refused"


def adopt(all_tables: Sequence[Table]) -> None:
    """Puts the source's content types and permissions, with their numbers, in the place of those migration made.

    Whatever refers to them then needs no translation. Only done while nothing refers to them yet.
    """
    made = [table for table in all_tables if table.name in MADE_BY_MIGRATION]
    if all(list(table.rows(TARGET)) == list(table.rows(SOURCE)) for table in made):
        return
    if any(table.count(TARGET) for table in all_tables if table not in made):
        raise ForeignTarget("the target's permissions are not those of this installation, and rows refer to them")
    with transaction.atomic(using=TARGET):
        for table in reversed(made):
            table.objects(TARGET).delete()
        for table in made:
            _insert(table, list(table.rows(SOURCE)))


def copy(table: Table) -> int:
    """Copies what the target does not hold yet and returns how many rows that were; each batch is a transaction.

    Rows that refer to others of their own table may come before them, so such a table goes in one transaction.
    """
    copied = 0
    try:
        with transaction.atomic(using=TARGET) if table.refers_to_itself else nullcontext():
            for batch in _batches(table.rows(SOURCE, after=table.last_key(TARGET))):
                with transaction.atomic(using=TARGET, savepoint=False):
                    _insert(table, batch)
                copied += len(batch)
    except DatabaseError as error:
        raise RowRefused(f"{table.name}: {reason(error)}") from error
    return copied


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


def _insert(table: Table, rows: Sequence[Row]) -> None:
    """COPY fires the triggers like any INSERT and costs a fraction of it."""
    connection = connections[TARGET]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in table.fields)
    statement = f"COPY {quote(table.name)} ({columns}) FROM STDIN"
    lines = [_line(table, row) for row in rows]
    try:
        with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as stream:
            for line in lines:
                stream.write_row(line)
    except DatabaseError as error:
        raise _refused(table, rows[_refused_line(error, len(rows)) - 1], reason(error)) from error


def _line(table: Table, row: Row) -> list[Any]:
    """The row as the driver takes it. SQLite keeps NUL characters in texts, PostgreSQL has no place for them."""
    connection = connections[TARGET]
    line = [field.get_db_prep_save(value, connection) for field, value in zip(table.fields, row, strict=True)]
    if any(isinstance(value, str) and "\0" in value for value in line):
        raise _refused(table, row, "a text holds a NUL character")
    return line


def _refused(table: Table, row: Row, why: str) -> RowRefused:
    place = ", ".join(f"{name} {value}" for name, value in zip(table.order, table.key_of(row), strict=True))
    return RowRefused(f"{table.name}: the row with {place} is refused: {why}")


def _refused_line(error: Exception, last: int) -> int:
    """PostgreSQL numbers the lines of a COPY in its context; without one the fault is in all of them."""
    context = getattr(getattr(error.__cause__, "diag", None), "context", None) or ""
    found = re.search(r"^COPY \w+, line (\d+)", context, re.M)
    return min(int(found[1]), last) if found else last


def reset_sequences(all_tables: Sequence[Table]) -> None:
    """New rows of the target are numbered behind those that came."""
    connection = connections[TARGET]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [table.model for table in all_tables]):
            cursor.execute(statement)
