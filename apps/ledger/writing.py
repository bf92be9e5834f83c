"""Writing transactions of one process, one after the other where the database has a single writer anyway.

SQLite lets waiting writers sleep and try again, which costs tens of milliseconds as soon as two threads write; a lock
in the process hands over at once. Other processes still meet at SQLite's own lock.
"""

from __future__ import annotations

import threading
from types import TracebackType

from django.db import DEFAULT_DB_ALIAS, connections, transaction

_writer = threading.RLock()


class writing:  # noqa: N801 reads as a statement, and a class costs less to enter than a generator
    """A transaction that is going to write."""

    __slots__ = ("_alone", "_atomic")

    def __enter__(self) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        self._alone = connection.vendor == "sqlite" and not connection.in_atomic_block
        self._atomic = transaction.atomic()
        if self._alone:
            _writer.acquire()
        try:
            self._atomic.__enter__()
        except BaseException:
            if self._alone:
                _writer.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._atomic.__exit__(kind, error, trace)
        finally:
            if self._alone:
                _writer.release()
