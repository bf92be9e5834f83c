"""Rows are locked table by table in one order, so that no two transactions wait for each other.

On PostgreSQL every statement of every test is looked at as it passes, whichever way it takes to the driver. What a
transaction has inserted itself is nobody else's to wait for and is left out.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper
from django.db.transaction import Atomic

from apps.ledger import sql

ORDER = (
    "accounts_organization",
    "accounts_membership",
    "accounts_user_groups",
    "accounts_servicetoken",
    "conductor_webhookendpoint",
    "conductor_webhookdelivery",
    "conductor_webhookendpoint_teams",
    "conductor_incident",
    "conductor_importsource",
    "tasks_teamscheduler",
    "tasks_task",
    "teams_team",
    "memory_governedfile",
    "teams_agent",
    "memory_remotefile",
    "tasks_agentlease",
    "tasks_attempt",
    "tasks_threadcursor",
    "tasks_plannode",
    "tasks_treelock",
    "memory_note_cited_spans",
    "tasks_span",
    "tasks_message",
    "context_contextsnapshot",
    "memory_note",
    "memory_landing",
    "memory_recipient",
    "memory_reviewitem",
    "memory_segment",
    "memory_flush",
    "tasks_budget",
    "ledger_denial",
    "ledger_log",
)
WHOLE = {
    "tasks_teamscheduler": {
        "tasks_task",
        "memory_segment",
        "memory_flush",
        "memory_note_cited_spans",
        "tasks_budget",
        "tasks_agentlease",
        "tasks_attempt",
        "tasks_plannode",
        "tasks_treelock",
        "tasks_span",
        "tasks_message",
        "context_contextsnapshot",
    },
    "memory_note": {"memory_recipient", "memory_landing", "memory_reviewitem"},
}
"""Whose rows are locked together with one row that comes before them: within it they need no order."""

_RANK = {table: place for place, table in enumerate(ORDER)}
_NAME = r'(?:ONLY )?"?(\w+)"?'
_WRITES = re.compile(rf"(UPDATE|DELETE FROM|INSERT INTO) {_NAME}", re.I)
_LOCKS = re.compile(rf"SELECT .*? FROM {_NAME}.* FOR (?:NO KEY )?UPDATE", re.I | re.S)


@lru_cache(maxsize=4096)
def touched(statement: str) -> tuple[str, str]:
    """`lock` or `insert` and the table of a statement; both empty for one that no other has to wait for."""
    written = _WRITES.match(statement)
    if written:
        return ("insert" if written[1].upper() == "INSERT INTO" else "lock"), written[2]
    locked = _LOCKS.match(statement)
    return ("lock", locked[1]) if locked else ("", "")


class Transaction:
    """What one transaction has locked so far, in order, and the tables in which it has made rows."""

    def __init__(self) -> None:
        self.locked: list[str] = []
        self.made: set[str] = set()

    def see(self, statement: str) -> str | None:
        """What is wrong with the next statement, if anything is."""
        kind, table = touched(statement)
        if kind == "insert":
            self.made.add(table)
        if kind != "lock" or table in self.locked or table in self.made:
            return None
        late = [held for held in self.locked if self._is_late(table, held)]
        self.locked.append(table)
        return f"{table} is locked behind {', '.join(late)}: {self.locked}" if late else None

    def _is_late(self, table: str, held: str) -> bool:
        if table not in _RANK or held not in _RANK:
            return True  # whatever is locked beside something else needs its place
        before = self.locked[: self.locked.index(held)]
        within = any({table, held} <= WHOLE.get(whole, set()) for whole in before)
        return _RANK[table] < _RANK[held] and not within


class Watch:
    """Looks at the statements of all threads and keeps what is wrong."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self._lock = threading.Lock()
        self._open: WeakKeyDictionary[Atomic, Transaction] = WeakKeyDictionary()

    def see(self, statement: Any) -> None:
        """A statement on its way, in the transaction that this thread has open."""
        own = [block for block in connections[DEFAULT_DB_ALIAS].atomic_blocks if not block._from_testcase]
        if not own or not isinstance(statement, str):
            return
        with self._lock:
            for part in statement.split(";\n"):
                transaction = self._open.setdefault(own[0], Transaction())
                if part == "COMMIT":
                    self._open.pop(own[0])
                wrong = transaction.see(part)
                if wrong:
                    self.wrong.append(wrong)


@contextmanager
def watched() -> Iterator[Watch]:
    """Looks at what goes by Django's cursors and by the driver's own."""
    watch = Watch()
    execute, executemany, drivers = CursorWrapper._execute, CursorWrapper._executemany, sql._drivers_cursor

    def one(self: CursorWrapper, statement: Any, *rest: Any) -> Any:
        watch.see(statement)
        return execute(self, statement, *rest)

    def many(self: CursorWrapper, statement: Any, *rest: Any) -> Any:
        watch.see(statement)
        return executemany(self, statement, *rest)

    class Watched(psycopg.Cursor[Any]):
        def execute(self, query: Any, *rest: Any, **options: Any) -> Any:
            watch.see(query)
            return super().execute(query, *rest, **options)

        def executemany(self, query: Any, *rest: Any, **options: Any) -> None:
            watch.see(query)
            super().executemany(query, *rest, **options)

    CursorWrapper._execute, CursorWrapper._executemany = one, many
    sql._drivers_cursor = lambda database: Watched(database.connection)
    try:
        yield watch
    finally:
        CursorWrapper._execute, CursorWrapper._executemany = execute, executemany
        sql._drivers_cursor = drivers
