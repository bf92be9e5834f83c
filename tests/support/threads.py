"""Work in other threads of a test, and whether any of it waits for a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection, connections


def closing_connections(work: Callable[..., Any], **options: Any) -> Any:
    """Runs in a thread that leaves no connection behind."""
    try:
        return work(**options)
    finally:
        connections.close_all()


def waits_for_a_lock() -> bool:
    """Whether anybody in this PostgreSQL database waits for somebody else's lock at this moment."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees what it saw first
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
        return cursor.fetchone() is not None
