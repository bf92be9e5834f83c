"""Sweeping again and again: one that breaks is followed by another, and the connection does not stay."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from django.db import OperationalError, connection

from apps.conductor import sweeping

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_sweep_that_breaks_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, done = threading.Event(), []

    def sweep() -> Counter[str]:
        done.append("sweep")
        if done.count("sweep") == 1:
            raise OperationalError("away")
        if done.count("sweep") == 3:
            stop.set()
        return Counter()

    monkeypatch.setattr(sweeping, "sweep", sweep)
    monkeypatch.setattr(sweeping, "reconcile", lambda: done.append("reconcile"))
    sweeping.sweep_until(stop, every_s=0, reconcile_every_s=60, before=lambda: done.append("before"))
    assert done == ["before", "sweep", "before", "sweep", "reconcile", "before", "sweep"]


def test_a_connection_that_was_used_is_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    left = []

    def sweep() -> Counter[str]:
        connection.ensure_connection()
        stop.set()
        return Counter()

    def work() -> None:
        sweeping.sweep_until(stop)
        left.append(connection.connection)

    monkeypatch.setattr(sweeping, "sweep", sweep)
    monkeypatch.setattr(sweeping, "reconcile", lambda: None)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=120)
    assert left == [None]
