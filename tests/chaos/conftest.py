"""A fleet of workers whose database clock can be stepped, and what must hold after every disaster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.support.cast import Cast
from tests.support.workers import Fleet, fleet


@pytest.fixture(autouse=True)
def on_postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.fail("tests/chaos needs PostgreSQL and Redis: run `make test-services`")


@pytest.fixture
def workers(committed_cast: Cast, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(tmp_path) as found:
        yield found


class SteppedClock:
    """The database's clock as every connection from now on sees it: a function that stands before the built-in one."""

    def __init__(self) -> None:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        with connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA chaos")
            cursor.execute("CREATE TABLE chaos.step (seconds integer NOT NULL)")
            cursor.execute("INSERT INTO chaos.step VALUES (0)")
            cursor.execute(
                "CREATE FUNCTION chaos.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
                " $$SELECT pg_catalog.clock_timestamp() + (SELECT seconds FROM chaos.step) * interval '1 second'$$"
            )
            cursor.execute(f"ALTER DATABASE {name} SET search_path = chaos, pg_catalog, public")

    def step(self, seconds: int) -> None:
        """So far from the real time is the database from now on."""
        with connection.cursor() as cursor:
            cursor.execute("UPDATE chaos.step SET seconds = %s", [seconds])

    def remove(self) -> None:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} RESET search_path")
            cursor.execute("DROP SCHEMA chaos CASCADE")


@pytest.fixture
def clock(workers: Fleet) -> Iterator[SteppedClock]:
    """Before any worker starts, so that all of them see it."""
    found = SteppedClock()
    try:
        yield found
    finally:
        workers.end()
        found.remove()
