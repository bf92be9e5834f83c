"""The time that claims, leases and entries go by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import connection

_override: Callable[[], datetime] | None = None


def now() -> datetime:
    """The database's time in UTC; on SQLite that is this machine's clock, since there is no other."""
    if _override is not None:
        return _override()
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
        return moment


def column() -> str:
    """The database's time as a column of a query that is made anyway; `read` turns what comes back into a moment."""
    return "clock_timestamp()" if connection.vendor == "postgresql" and _override is None else "NULL"


def read(value: datetime | None) -> datetime:
    """What `column` gave, or the time where the database was not asked."""
    return now() if value is None else value


@contextmanager
def running_on(clock: Callable[[], datetime]) -> Iterator[None]:
    """Replaces the time for a test that lets a clock jump."""
    global _override
    before, _override = _override, clock
    try:
        yield
    finally:
        _override = before
