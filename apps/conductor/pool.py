"""The embedded binding: the jobs of one process in its own threads, woken at once, no broker and no polling."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import close_old_connections, connections
from structlog.contextvars import bound_contextvars

from apps.conductor import wake as waking
from apps.conductor.jobs import jobs
from apps.conductor.runner import Runner
from apps.conductor.wake import Binding
from apps.providers.runtimes import runtime
from tikitaka.errors import TikiTakaError
from tikitaka.hosts import WorkspaceElsewhere
from tikitaka.policy import Policy
from tikitaka.ports import AgentRuntime

log = structlog.get_logger(__name__)
_JOB_THREADS = 4


class Threads:
    """A few named threads that take work from one queue.

    Each gives up a database connection that has been cut before it goes on, and closes its own when it ends.
    """

    def __init__(self, name: str, count: int) -> None:
        self._name, self._count = name, count
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._waiting = 0
        self._lock = threading.Lock()

    def start(self, work: Callable[[], None]) -> None:
        """Runs `work` in the next free thread."""
        with self._lock:
            self._waiting += 1
            if self._waiting > 0 and len(self._threads) < self._count:
                thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put(work)

    def stop(self) -> None:
        """Lets every thread finish what it does and waits for it."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout=30)

    def _work(self) -> None:
        try:
            while (work := self._queue.get()) is not None:
                with self._lock:
                    self._waiting -= 1
                close_old_connections()
                work()
        finally:
            connections.close_all()


class EmbeddedPool:
    """Runs jobs soon and each subject one at a time: a wake-up that comes while its job runs makes it run once more."""

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        runtimes: Callable[[str], AgentRuntime] = runtime,
        slots: int | None = None,
        here: Collection[str] | None = None,
        elsewhere: Binding | None = None,
    ) -> None:
        """All jobs are done here, or only some and the others go `elsewhere`."""
        slots = slots or settings.TIKITAKA_WORKERS
        self._here, self._elsewhere = here, elsewhere
        self._attempts = Threads("attempt", slots)
        self._threads = Threads("job", _JOB_THREADS)
        offer = partial(elsewhere.wake, "dispatch") if elsewhere else None
        self.runner = Runner(start=self._attempts.start, slots=slots, policy=policy, runtimes=runtimes, offer=offer)
        self._jobs = jobs(self.runner)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._asked: set[tuple[str, UUID]] = set()
        self._running: set[tuple[str, UUID]] = set()

    def wake(self, job: str, subject: UUID) -> None:
        """Asks for a job; asking again before it starts changes nothing."""
        if job == "kill":
            self.runner.kill(subject)
            return
        if self._elsewhere is not None and self._here is not None and job not in self._here:
            self._elsewhere.wake(job, subject)
            return
        key = (job, subject)
        with self._lock:
            if key in self._asked:
                return
            self._asked.add(key)
            if key in self._running:
                return
            self._running.add(key)
        self._threads.start(lambda: self._work(key))

    def drain(self, timeout_s: float = 600) -> bool:
        """Waits until nothing is asked for, nothing runs and every end is written; False when that takes too long."""
        with self._changed:
            return self._changed.wait_for(self._idle, timeout=timeout_s)

    def stop(self) -> None:
        """Ends the pool: attempts are killed, jobs finish what they do."""
        self.runner.stop()
        self._attempts.stop()
        self._threads.stop()

    def _idle(self) -> bool:
        return not self._asked and not self._running and not self.runner.busy()

    def _work(self, key: tuple[str, UUID]) -> None:
        job, subject = key
        while True:
            with self._lock:
                if key not in self._asked:
                    self._running.discard(key)
                    self._changed.notify_all()
                    return
                self._asked.discard(key)
            close_old_connections()
            with bound_contextvars(job=job, subject=str(subject)):
                try:
                    self._jobs[job](subject)
                except WorkspaceElsewhere as elsewhere:
                    log.info("a job was refused; a sweep there finds it", code=elsewhere.code, host=elsewhere.host)
                except TikiTakaError as refused:
                    log.warning("a job was refused", code=refused.code)
                except Exception:
                    log.exception("a job broke; a sweep will find its work")


@contextmanager
def embedded_pool(
    *, policy: Policy | None = None, runtimes: Callable[[str], AgentRuntime] = runtime, slots: int | None = None
) -> Iterator[EmbeddedPool]:
    """A pool that receives this process's wake-ups while the block runs."""
    pool = EmbeddedPool(policy=policy, runtimes=runtimes, slots=slots)
    waking.bind(pool)
    try:
        yield pool
    finally:
        waking.bind(None)
        pool.stop()
