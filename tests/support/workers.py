"""Real worker processes on the test's own database, on a broker that is its own by a key prefix."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import uuid4

import redis
from celery import Celery
from django.conf import settings
from django.db import connection

from apps.conductor import broker
from config.broker import celery_settings
from tests.support import processes

BROKER = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/9")
_START_S = 120


@dataclass(slots=True)
class Fleet:
    """The workers of one test. `environment` is what each of them is started with."""

    environment: dict[str, str]
    logs: Path
    prefix: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, queues: str, *, count: int = 1, size: int = 1, before: str = "", **environment: str) -> None:
        """Starts workers and waits until they take messages; `before` is code that each runs first."""
        fresh = [self._start(queues, size, before, environment) for _ in range(count)]
        self.workers += [worker for worker, _ in fresh]
        for worker, log in fresh:
            wait_until(partial(_is_up, worker, log), _START_S, lambda log=log: log.read_text()[-2000:])
            assert worker.poll() is None, log.read_text()[-2000:]

    def sweep(self, *, alone: bool = False, **environment: str) -> None:
        """One sweep in a process of its own: it wakes the workers, or `alone` does what it finds by itself."""
        values = {**self.environment, **environment}
        command = ["sweeper", "--once"]
        if alone:
            command, values["TIKITAKA_BROKER_URL"] = ["sweep"], ""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=processes.ROOT,
            env=values,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]

    def end(self, *, with_children: bool = False) -> None:
        """Kills every worker, each by its own id; what an agent's program left is its reaper's business."""
        children = [child for worker in self.workers for child in descendants(worker.pid)] if with_children else []
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for worker in self.workers:
            worker.wait(timeout=120)
        self.workers.clear()

    def _start(
        self, queues: str, size: int, before: str, environment: dict[str, str]
    ) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.logs / f"worker-{queues}-{uuid4().hex[:6]}.log"
        pool = "prefork" if queues == "embed" else "threads"
        arguments = ["worker", "-Q", queues, "-P", pool, "-c", str(size), "-n", f"{uuid4().hex[:8]}@test"]
        arguments += ["-l", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        program = f"from config.celery import app  # celery\n{before}\napp.worker_main({arguments!r})"
        with log.open("wb") as stream:
            worker = subprocess.Popen(
                [sys.executable, "-c", program],
                cwd=processes.ROOT,
                env={**self.environment, "TIKITAKA_EMBED_HERE": str(int("embed" in queues)), **environment},
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        return worker, log


def _is_up(worker: subprocess.Popen[bytes], log: Path) -> bool:
    return b"ready." in log.read_bytes() or worker.poll() is not None


@contextmanager
def fleet(folder: Path, **environment: str) -> Iterator[Fleet]:
    """Workers for the block; this process's own wake-ups go to the same broker."""
    prefix = f"test-{uuid4().hex[:8]}:"
    values = {
        **processes.environment(),
        "TIKITAKA_BROKER_URL": BROKER,
        "TIKITAKA_BROKER_PREFIX": prefix,
        "C_FORCE_ROOT": "1",
        "TIKITAKA_LOG": "INFO",
        **environment,
    }
    before = settings.TIKITAKA_BROKER_URL, broker.app
    broker.app = Celery("test", set_as_current=False)
    broker.app.config_from_object(celery_settings(BROKER, prefix=prefix), namespace="CELERY")
    settings.TIKITAKA_BROKER_URL = BROKER
    found = Fleet(environment=values, logs=folder, prefix=prefix)
    try:
        yield found
    finally:
        found.end(with_children=True)
        wait_until(nobody_else_is_connected, 90, lambda: f"still connected: {others_connected()}")
        broker.app.close()
        settings.TIKITAKA_BROKER_URL, broker.app = before
        empty_broker(prefix)


def descendants(pid: int) -> list[int]:
    """The processes below one, which outlive it when it is killed."""
    found: list[int] = []
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def nobody_else_is_connected() -> bool:
    """The server has noticed that the workers are gone, so that the database can be dropped."""
    return not others_connected()


def others_connected() -> list[tuple[str, str]]:
    """State and last statement of every other connection: of a worker, or of a thread that a test left behind."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT state, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        return list(cursor.fetchall())


def empty_broker(prefix: str) -> int:
    """Forgets every message of one test; how many keys went."""
    client = redis.Redis.from_url(BROKER)
    keys = list(client.scan_iter(match=f"{prefix}*"))
    return int(client.delete(*keys)) if keys else 0


def wait_until(found: Callable[[], bool], seconds: float, why: Callable[[], str] = lambda: "") -> None:
    """Looks again and again; fails with what `why` says when it takes longer."""
    deadline = time.monotonic() + seconds
    while not found():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {why()}")
        time.sleep(0.05)
