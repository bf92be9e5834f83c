"""Disasters, on real workers. After each: two sweeps, then everything that must hold holds."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection

from apps.conductor.models import Incident
from apps.conductor.story import close_thread, submit
from apps.conductor.wake import wake
from apps.ledger.selectors import entries, header
from apps.memory.models import Flush, Landing, Note
from apps.tasks.models import AgentLease, Attempt, Task
from tests.chaos.conftest import SteppedClock
from tests.chaos.invariants import check
from tests.flows.test_promises import extracted, record
from tests.support import processes
from tests.support.cast import Cast, assemble
from tests.support.notes import RULE, approved
from tests.support.plans import node
from tests.support.proxy import Proxy
from tests.support.workers import BROKER, Fleet, empty_broker, fleet, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
EVERYTHING = "control,nodes,embed,flush"
AN_HOUR = 3_600
DIE = "import os, signal\ndef die(*args, **options):\n    os.kill(os.getpid(), signal.SIGKILL)\n"


def sweep_twice(workers: Fleet, **environment: str) -> None:
    for _ in range(2):
        workers.sweep(alone=True, **environment)


def submitted(cast: Cast, *plan: dict[str, Any]) -> Task:
    return submit(actor=cast.operator, team=cast.team, prompt="x", plan=list(plan)).task


def status_of(task: Task) -> str:
    return str(Task.objects.values_list("status", flat=True).get(pk=task.pk))


class TestKilled:
    def test_in_the_middle_of_a_node(self, committed_cast: Cast, workers: Fleet, clock: SteppedClock) -> None:
        workers.start(EVERYTHING, size=4)
        task = submitted(committed_cast, node(2, "do: hang-once here\ndo: say done"), node(3, after=(1,)))
        wait_until(lambda: Attempt.objects.filter(spans__text="hanging").exists(), 90)

        workers.end()
        clock.step(AN_HOUR)
        sweep_twice(workers)

        assert status_of(task) == "completed"
        assert list(Attempt.objects.order_by("started_at").values_list("status", flat=True)) == [
            "interrupted",
            "completed",
            "completed",
        ]
        check(committed_cast)

    def test_in_the_middle_of_a_flush(
        self, committed_cast: Cast, workers: Fleet, clock: SteppedClock, settings: Any
    ) -> None:
        record(settings, "extract", json.dumps({"notes": [extracted(RULE)]}))
        with hanging_model() as (url, asked):
            workers.start(
                EVERYTHING, size=4, TIKITAKA_EXTRACTOR="openai", TIKITAKA_MODEL_URL=url, TIKITAKA_MODEL_NAME="m"
            )
            task = submitted(committed_cast, node(2))
            wait_until(lambda: status_of(task) == "completed", 90)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            wait_until(asked.is_set, 90)
            workers.end()
        assert Flush.objects.get().status == "running"

        clock.step(AN_HOUR)
        sweep_twice(workers, TIKITAKA_EXTRACTOR="replay")

        flush = Flush.objects.get()
        assert (flush.status, len(flush.attempts)) == ("done", 2)
        assert Note.objects.get().content == RULE
        check(committed_cast)

    @pytest.mark.parametrize(
        "point",
        ["apps.memory.services.landing.land.write_landing", "apps.memory.services.landing.write._record"],
        ids=["between intent and write", "between write and confirmation"],
    )
    def test_while_landing(self, committed_cast: Cast, workers: Fleet, clock: SteppedClock, point: str) -> None:
        module, name = point.rsplit(".", 1)
        workers.start(EVERYTHING, size=4, before=f"{DIE}import {module} as module\nmodule.{name} = die")
        note = approved(committed_cast, to=("backend", "frontend"))
        wake("land", note.pk)
        wait_until(lambda: workers.workers[0].poll() is not None, 90)
        assert set(Landing.objects.values_list("status", flat=True)) == {"intended"}

        clock.step(AN_HOUR)
        sweep_twice(workers)

        assert Note.objects.get(pk=note.pk).status == "active"
        check(committed_cast)


def test_the_broker_is_emptied(committed_cast: Cast, workers: Fleet) -> None:
    workers.start(EVERYTHING, size=4)
    slow = "do: think\ndo: sleep 1\ndo: say done"
    task = submitted(committed_cast, node(1, slow), node(2, slow, after=(1,)), node(3, slow, after=(2,)))
    note = approved(committed_cast)
    wait_until(Attempt.objects.exists, 90)
    for _ in range(6):
        wake("land", note.pk)
        empty_broker(workers.prefix)
        time.sleep(0.2)

    def swept() -> bool:
        workers.sweep()
        return status_of(task) == "completed" and Note.objects.get(pk=note.pk).status == "active"

    wait_until(swept, 90)
    assert Attempt.objects.count() == 3
    check(committed_cast)


def test_workers_go_on_when_the_broker_is_back(committed_cast: Cast, tmp_path: Path) -> None:
    """As when Redis is restarted: what runs goes on meanwhile, and what was asked for meanwhile is done then."""
    broker = urlsplit(BROKER)
    way = Proxy(broker.hostname or "127.0.0.1", broker.port or 6379)
    with closing(way), fleet(tmp_path, TIKITAKA_BROKER_URL=f"redis://127.0.0.1:{way.port}{broker.path}") as workers:
        workers.start(EVERYTHING, size=4)
        running = submitted(committed_cast, node(1, "do: sleep 2\ndo: say done"))
        wait_until(lambda: Attempt.objects.filter(status="running").exists(), 90)

        way.cut()
        wait_until(partial(_is_completed, running), 90)
        asked = submitted(committed_cast, node(2, "do: say done"), node(3, "do: say done", after=(1,)))
        time.sleep(3)  # longer than a worker that could hear of it would take
        assert not _is_completed(asked)
        way.mend()

        wait_until(partial(_is_completed, asked), 90)
        assert set(Attempt.objects.values_list("status", flat=True)) == {"completed"}
        check(committed_cast)


def test_database_connections_are_cut(committed_cast: Cast, workers: Fleet, clock: SteppedClock) -> None:
    workers.start(EVERYTHING, size=4)
    slow = "do: think\ndo: sleep 0.5\ndo: say done"
    task = submitted(committed_cast, node(1, slow), node(2, slow), node(3, slow, after=(1, 2)))
    note = approved(committed_cast)
    wake("land", note.pk)
    for _ in range(12):
        cut_connections()
        time.sleep(0.25)
    wait_until(lambda: not Attempt.objects.filter(status="running").exists() or overdue(task), 90)
    workers.end()
    clock.step(AN_HOUR)
    sweep_twice(workers)

    assert status_of(task) in ("completed", "partial", "failed")
    assert Note.objects.get(pk=note.pk).status == "active"
    check(committed_cast)


def test_workers_whose_connections_were_cut_go_on(committed_cast: Cast, workers: Fleet) -> None:
    """As when the database is restarted: nobody restarts the workers for it, and no sweep comes to their help."""
    workers.start(EVERYTHING, size=4)
    plan = [node(1, "do: say done"), node(2, "do: say done", after=(1,)), node(3, "do: say done", after=(1,))]
    for _ in range(3):
        task = submitted(committed_cast, *plan)
        wait_until(partial(_is_completed, task), 90)
        cut_connections()
    check(committed_cast)


def test_an_attempt_outlives_the_connections_of_its_worker(committed_cast: Cast, workers: Fleet) -> None:
    """Its lease is renewed and its work is stored as soon as the database is there again; nothing is done twice."""
    workers.start(EVERYTHING, size=4, TIKITAKA_POLICY_LEASE_S="6", TIKITAKA_POLICY_LEASE_RENEW_S="1")
    task = submitted(committed_cast, node(2, "do: sleep 12\ndo: say done"))
    wait_until(lambda: Attempt.objects.filter(status="running").exists(), 90)
    time.sleep(2.5)
    cut_connections()
    until = AgentLease.objects.get().expires_at

    wait_until(lambda: AgentLease.objects.get().expires_at > until + timedelta(seconds=3), 8)

    def cut_until_it_is_completed() -> bool:
        if not _is_completed(task):
            cut_connections()
            time.sleep(1)
        return _is_completed(task)

    wait_until(cut_until_it_is_completed, 90)
    assert Attempt.objects.get().status == "completed"
    check(committed_cast)


def test_an_attempt_outlives_a_database_that_is_away_for_seconds(committed_cast: Cast, tmp_path: Path) -> None:
    """As while it is restarted: what the agent did meanwhile and its end are stored once it is back."""
    server = urlsplit(processes.environment()["DATABASE_URL"])
    way = Proxy(server.hostname or "127.0.0.1", server.port or 5432)
    user = server.netloc.rpartition("@")[0]
    there = server._replace(netloc=f"{user}@127.0.0.1:{way.port}").geturl()
    with closing(way), fleet(tmp_path, DATABASE_URL=there) as workers:
        workers.start(EVERYTHING, size=4)
        script = "do: say before\ndo: sleep 3\ndo: say meanwhile\ndo: sleep 1\ndo: say done"
        task = submitted(committed_cast, node(2, script), node(3, "do: say done", after=(1,)))
        wait_until(lambda: Attempt.objects.filter(spans__text="before").exists(), 90)

        way.cut()
        time.sleep(6)
        assert Attempt.objects.get().status == "running"
        way.mend()

        wait_until(partial(_is_completed, task), 90)
        first = Attempt.objects.order_by("started_at")[0]
        assert list(first.spans.order_by("seq").values_list("text", flat=True)) == ["before", "meanwhile", "done"]
        assert list(Attempt.objects.values_list("status", flat=True)) == ["completed", "completed"]
        check(committed_cast)


def cut_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def _is_completed(task: Task) -> bool:
    return status_of(task) == "completed"


def overdue(task: Task) -> bool:
    """An attempt whose end could not be written waits for its lease to run out."""
    return status_of(task) == "running"


def test_the_disk_is_full_while_landing(transactional_db: None, tmp_path: Path, settings: Any) -> None:
    with tiny_disk(tmp_path / "tiny") as disk:
        settings.TIKITAKA_WORKSPACES = disk
        cast = assemble()
        with fleet(tmp_path) as workers:
            workers.start(EVERYTHING, size=4)
            filler = disk / "filler"
            fill(filler)
            note = approved(cast, content=RULE + " Truly." * 200)
            wake("land", note.pk)
            open_incident = Incident.objects.filter(kind="landing_failed", subject=f"note {note.pk}", closed_at=None)
            wait_until(open_incident.exists, 90)
            note.refresh_from_db()
            assert (note.status, note.landing_fault) == ("approved", "no_space")

            filler.unlink()
            Note.objects.filter(pk=note.pk).update(landing_until=None)  # a minute later
            sweep_twice(workers)

            assert Note.objects.get(pk=note.pk).status == "active"
            assert not open_incident.exists()
            check(cast)


def test_the_disk_is_read_only_while_landing(transactional_db: None, tmp_path: Path, settings: Any) -> None:
    with tiny_disk(tmp_path / "tiny") as disk:
        settings.TIKITAKA_WORKSPACES = disk
        cast = assemble()
        with fleet(tmp_path) as workers:
            workers.start(EVERYTHING, size=4)
            note = approved(cast)
            remount(disk, "ro")
            wake("land", note.pk)
            open_incident = Incident.objects.filter(kind="landing_failed", subject=f"note {note.pk}", closed_at=None)
            wait_until(open_incident.exists, 90)
            note.refresh_from_db()
            assert (note.status, note.landing_fault) == ("approved", "workspace_read_only")
            (failed,) = entries(cast.organization.pk, types=("memory.landing.failed",))
            assert header(failed)["facts"]["reason"] == "workspace_read_only"

            remount(disk, "rw")
            Note.objects.filter(pk=note.pk).update(landing_until=None)  # a minute later
            sweep_twice(workers)

            assert Note.objects.get(pk=note.pk).status == "active"
            assert not open_incident.exists()
            check(cast)


def test_the_clock_is_stepped_back_and_forth(committed_cast: Cast, workers: Fleet, clock: SteppedClock) -> None:
    workers.start(EVERYTHING, size=4)
    slow = "do: think\ndo: sleep 2\ndo: say done"
    task = submitted(committed_cast, node(2, slow), node(3, slow, after=(1,)))
    wait_until(Attempt.objects.exists, 90)
    for hours in (2, -2, 3, 0):
        clock.step(hours * AN_HOUR)
        write_an_entry(committed_cast)
        workers.sweep()

    def swept() -> bool:
        workers.sweep()
        return Task.objects.filter(pk=task.pk, settled_at__isnull=False).exists()

    wait_until(swept, 90)
    workers.end()
    clock.step(4 * AN_HOUR)
    sweep_twice(workers)

    assert status_of(task) in ("completed", "partial", "failed")
    assert entries(committed_cast.organization.pk, types=("ledger.clock.stepped",)).exists()
    check(committed_cast)


def write_an_entry(cast: Cast) -> None:
    """In a process whose connection sees the clock as it is now."""
    done = processes.run(
        "from uuid import UUID\nfrom apps.ledger.services import recording\n"
        "from tikitaka.ledger.events import TeamUnpaused\n"
        f"with recording(UUID('{cast.organization.pk}')) as ledger:\n"
        f"    ledger.record(TeamUnpaused(team=UUID('{cast.team.pk}')))"
    )
    assert done.returncode == 0, done.errors  # type: ignore[attr-defined]


@contextmanager
def hanging_model() -> Iterator[tuple[str, threading.Event]]:
    """A model server on loopback that takes questions and never answers; the event says that it was asked."""
    asked, over = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.set()
            over.wait(60)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        over.set()
        server.shutdown()
        server.server_close()


@contextmanager
def tiny_disk(folder: Path) -> Iterator[Path]:
    """A file system of two megabytes in memory; mounting needs root, as every run of the services' suite has."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=True, timeout=10)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=10)


def remount(folder: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True, timeout=10)


def fill(file: Path) -> None:
    """Writes until nothing more fits."""
    with file.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4096)
        except OSError:
            return
