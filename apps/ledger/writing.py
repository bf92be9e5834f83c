"""Writing transactions of one process, one after the other where the database has a single writer anyway.

SQLite lets waiting writers sleep and try again, which costs tens of milliseconds as soon as two threads write; a lock
in the process hands over at once. Other processes still meet at SQLite's own lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

_writer = threading.RLock()


@contextmanager
def writing() -> Iterator[None]:
    """A transaction that is going to write."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with _writer, transaction.atomic():
        yield
