"""Kept connections to PostgreSQL: one that was cut is given up, one that is silent is used without asking."""

from __future__ import annotations

import time

import psycopg
import pytest
from django.db import connection

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="a file is never away"),
]


@pytest.fixture
def other() -> psycopg.Connection:
    """Somebody else on the same server."""
    return psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}, autocommit=True)


def statements_of(other: psycopg.Connection, process: int) -> tuple[str, object]:
    """The last statement that the server had from a connection, and when."""
    row = other.execute("SELECT query, query_start FROM pg_stat_activity WHERE pid = %s", [process]).fetchone()
    assert row is not None
    return row


def cut(other: psycopg.Connection, process: int) -> None:
    """Ends a connection from the server's side, and waits until it is gone there."""
    other.execute("SELECT pg_terminate_backend(%s)", [process])
    deadline = time.monotonic() + 90
    while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [process]).fetchone():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_silent_connection_is_used_without_a_word(other: psycopg.Connection) -> None:
    connection.ensure_connection()
    process = connection.connection.info.backend_pid
    before = statements_of(other, process)
    assert connection.is_usable()
    assert statements_of(other, process) == before
    other.close()


def test_one_that_was_cut_is_not_used_again(other: psycopg.Connection) -> None:
    connection.ensure_connection()
    process = connection.connection.info.backend_pid
    connection.health_check_done = False
    cut(other, process)
    assert not connection.is_usable()
    connection.close_if_health_check_failed()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    assert connection.connection.info.backend_pid != process
    other.close()


def test_one_to_which_the_server_said_something_is_asked_and_stays(other: psycopg.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("LISTEN somebody")
    process = connection.connection.info.backend_pid
    other.execute("NOTIFY somebody")
    deadline = time.monotonic() + 90
    before = statements_of(other, process)
    while statements_of(other, process) == before and time.monotonic() < deadline:
        assert connection.is_usable()
    assert statements_of(other, process)[0] == "SELECT 1"
    other.close()


def test_none_is_not_usable() -> None:
    connection.close()
    assert not connection.is_usable()
