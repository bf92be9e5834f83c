"""Callers whom a door without persons turned away: counted here, and written every few seconds at most.

Whoever hammers such a door must not make the database write for every call.
"""

from __future__ import annotations

import threading
import time

from django.db import DatabaseError
from django.db.models import F

from apps.conductor.models import RefusedCalls

_WRITE_S = 10.0


class Refusals:
    """The refusals at one door in this process; those of all processes add up in one row."""

    def __init__(self, door: str) -> None:
        self._door = door
        self._lock = threading.Lock()
        self._waiting = 0
        self._written_at: float | None = None

    def add(self) -> None:
        """Counts one; a database that is away must not turn a refusal into an error."""
        with self._lock:
            self._waiting += 1
            due = self._written_at is None or time.monotonic() - self._written_at >= _WRITE_S
        if due:
            try:
                self.write()
            except DatabaseError:
                return

    def write(self) -> None:
        """Adds to the row what has been counted since the last time."""
        with self._lock:
            count, self._waiting = self._waiting, 0
            self._written_at = time.monotonic()
        if not count:
            return
        try:
            RefusedCalls.objects.get_or_create(door=self._door)
            RefusedCalls.objects.filter(door=self._door).update(count=F("count") + count)
        except DatabaseError:
            with self._lock:
                self._waiting += count
            raise
