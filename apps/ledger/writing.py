"""Writing transactions of one process, one after the other where the database has a single writer anyway.

SQLite lets waiting writers sleep and try again, which costs tens of milliseconds as soon as two threads write; a lock
in the process hands over at once. Other processes still meet at SQLite's own lock.
"""

from __future__ import annotations

import threading
from types import TracebackType

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.ledger.sql import listened_to

_writer = threading.RLock()


class writing(transaction.Atomic):  # noqa: N801 reads as a statement, and a class costs less to enter than a generator
    """A transaction that is going to write.

    Django's own, except that the outermost one on SQLite begins and commits with two statements and nothing around
    them: they cost less than Django's way to them. Whatever is not the usual case goes Django's way.
    """

    def __init__(self) -> None:
        super().__init__(DEFAULT_DB_ALIAS, savepoint=True, durable=False)

    def __enter__(self) -> None:
        self._database = database = connections[DEFAULT_DB_ALIAS]
        self._direct = False
        self._alone = database.vendor == "sqlite" and not database.in_atomic_block
        if not self._alone:
            super().__enter__()
            return
        _writer.acquire()
        try:
            if database.get_autocommit() and not listened_to(database):
                self._begin(database)
            else:
                super().__enter__()
        except BaseException:
            _writer.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database = self._database
        try:
            if self._direct and kind is None and not database.needs_rollback and not database.run_on_commit:
                self._commit(database)
            else:
                super().__exit__(kind, error, trace)
        finally:
            if self._alone:
                _writer.release()

    def commit_may_travel(self) -> bool:
        """Whether the last statements may take the commit with them: Django's own then finds nothing to do.

        True of the outermost block on PostgreSQL that nothing inside has doomed.
        """
        database = self._database
        outermost = len(database.atomic_blocks) == 1 and database.commit_on_exit and not database.savepoint_ids
        return database.vendor == "postgresql" and outermost and not database.needs_rollback

    def _begin(self, database: BaseDatabaseWrapper) -> None:
        """Leaves the connection in the state in which Django's own outermost block leaves it."""
        database.close_if_health_check_failed()
        database.ensure_connection()
        with database.wrap_database_errors:
            database.connection.execute("BEGIN IMMEDIATE")
        self._direct = True
        database.commit_on_exit = True
        database.needs_rollback = False
        database.autocommit = False
        database.in_atomic_block = True
        database.atomic_blocks.append(self)

    def _commit(self, database: BaseDatabaseWrapper) -> None:
        """The same at the end; a commit that fails is rolled back by Django."""
        try:
            with database.wrap_database_errors:
                database.connection.execute("COMMIT")
        except BaseException as failure:
            super().__exit__(type(failure), failure, failure.__traceback__)
            raise
        database.atomic_blocks.pop()
        database.in_atomic_block = False
        database.autocommit = True
        database.errors_occurred = False
