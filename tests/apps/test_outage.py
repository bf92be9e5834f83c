"""A database that goes away and comes back: threads that live longer than a request, and work that is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import Error, InterfaceError, OperationalError, connection

from apps.conductor import outage
from apps.conductor.capture import SpanCollector
from apps.conductor.outage import outlast
from apps.conductor.pool import EmbeddedPool, Threads
from apps.ledger.ids import new_id
from apps.tasks.services.attempts import StaleHolder
from tikitaka.policy import Policy

LINE = '{"type": "item.completed", "item": {"id": "i%d", "type": "agent_message", "text": "%s"}}'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "AGAIN_S", 0.0)
    monkeypatch.setattr("apps.conductor.capture.AGAIN_S", 0.0)


def failing(*errors: Exception, then: Callable[..., Any] = lambda *_, **__: "done") -> Callable[..., Any]:
    left = list(errors)

    def work(*arguments: Any, **options: Any) -> Any:
        if left:
            raise left.pop(0)
        return then(*arguments, **options)

    return work


class TestOutlast:
    def test_it_is_asked_again_until_it_is_there(self) -> None:
        work = failing(OperationalError("away"), InterfaceError("closed"))
        assert outlast(work, patience_s=60, stop=threading.Event()) == "done"

    def test_patience_ends(self) -> None:
        with pytest.raises(OperationalError):
            outlast(failing(OperationalError("away")), patience_s=0, stop=threading.Event())

    def test_nobody_waits_for_it_who_was_told_to_stop(self) -> None:
        stop = threading.Event()
        stop.set()
        with pytest.raises(OperationalError):
            outlast(failing(OperationalError("away")), patience_s=60, stop=stop)

    def test_another_error_is_not_an_outage(self) -> None:
        with pytest.raises(StaleHolder):
            outlast(failing(StaleHolder()), patience_s=60, stop=threading.Event())


class TestSpansWait:
    @pytest.fixture
    def stored(self) -> list[tuple[int, str]]:
        return []

    def collector(self, monkeypatch: pytest.MonkeyPatch, stored: list[tuple[int, str]], *errors: Exception) -> Any:
        def keep(*, spans: Any, **_: Any) -> None:
            stored.extend((number, draft.text) for number, draft in spans)

        monkeypatch.setattr("apps.conductor.capture.save_spans", failing(*errors, then=keep))
        monkeypatch.setattr("apps.conductor.capture._DELAY_S", 0.0)
        return SpanCollector(attempt=new_id(), fence=1, policy=Policy())

    def test_none_is_lost_and_the_later_of_two_counts(
        self, monkeypatch: pytest.MonkeyPatch, stored: list[tuple[int, str]]
    ) -> None:
        collector = self.collector(monkeypatch, stored, OperationalError("away"), InterfaceError("closed"))
        collector.feed(LINE % (1, "first"))
        collector.feed(LINE % (1, "first, later"))
        assert not stored

        collector.feed(LINE % (2, "second"))

        assert stored == [(1, "first, later"), (2, "second")]

    def test_the_end_says_that_it_is_away(self, monkeypatch: pytest.MonkeyPatch, stored: list[tuple[int, str]]) -> None:
        collector = self.collector(monkeypatch, stored, *[OperationalError("away")] * 2)
        collector.feed(LINE % (1, "first"))
        with pytest.raises(OperationalError):
            collector.store()
        collector.store()
        assert stored == [(1, "first")]

    def test_who_holds_nothing_any_more_stops_at_once(
        self, monkeypatch: pytest.MonkeyPatch, stored: list[tuple[int, str]]
    ) -> None:
        collector = self.collector(monkeypatch, stored, StaleHolder())
        with pytest.raises(StaleHolder):
            collector.feed(LINE % (1, "first"))


@pytest.mark.django_db(transaction=True)
def test_a_job_that_is_asked_again_while_its_connection_is_cut_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []

    def job(subject: UUID) -> None:
        if not found:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            connection.connection.close()
            pool.wake("settle", subject)
        found.append("begun")
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        found.append("done")

    monkeypatch.setattr("apps.conductor.pool.jobs", lambda _: {"settle": job})
    pool = EmbeddedPool(slots=1)
    pool.wake("settle", new_id())
    assert pool.drain(120)
    pool.stop()
    assert found == ["begun", "begun", "done"]


@pytest.mark.django_db(transaction=True)
def test_a_thread_whose_connection_was_cut_goes_on_with_the_next_work() -> None:
    found: list[str] = []
    threads = Threads("test", 1)

    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        found.append("answered")

    def cut() -> None:
        ask()
        connection.connection.close()
        with pytest.raises(Error):
            ask()
        found.append("refused")

    threads.start(cut)
    threads.start(ask)
    threads.stop()
    assert found == ["answered", "refused", "answered"]
