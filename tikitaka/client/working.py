"""An orchestrator in a function: lease a node, keep the lease, pass on what the agent does, report how it ended."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

from tikitaka.client.calls import Id
from tikitaka.client.clients import AsyncClient, Client
from tikitaka.client.errors import ClientError
from tikitaka.client.exchange import Patience
from tikitaka.client.job import Answer, Ending, Job, Stopped
from tikitaka.client.plans import HOLD, Ask, Plan, keep, next_lease, report
from tikitaka.client.records.external import Lease

T = TypeVar("T")
log = logging.getLogger(__name__)
Program = Callable[[Job], str | Answer]
AsyncProgram = Callable[[Job], Awaitable[str | Answer]]


def work(
    client: Client,
    team: Id,
    run: Program,
    *,
    agents: Collection[Id] | None = None,
    until: Callable[[], bool] | None = None,
    wait_s: int = 20,
    patience: Patience = HOLD,
) -> int:
    """Answers nodes of external agents with `run`, one at a time, until `until()` is true; how many ends were taken.

    `run` looks at `job.stopped`, or calls `job.check()`, now and then: a thread cannot be stopped from outside. What
    `run` raises is reported as a failure of the attempt, which the server may try again.
    """
    taken = 0
    while until is None or not until():
        lease = _follow(client, next_lease(team, agents, wait_s, patience))
        if lease is not None:
            taken += _serve(client, lease, run, patience)
    return taken


async def work_async(
    client: AsyncClient,
    team: Id,
    run: AsyncProgram,
    *,
    agents: Collection[Id] | None = None,
    until: Callable[[], Awaitable[bool]] | None = None,
    wait_s: int = 20,
    patience: Patience = HOLD,
) -> int:
    """The same in an event loop, where `run` is cancelled once its task is, or once the lease is lost."""
    taken = 0
    while until is None or not await until():
        lease = await _follow_async(client, next_lease(team, agents, wait_s, patience))
        if lease is not None:
            taken += await _serve_async(client, lease, run, patience)
    return taken


def _serve(client: Client, lease: Lease, run: Program, patience: Patience) -> bool:
    job = Job(lease)
    ending: Ending
    with _kept(client, job):
        try:
            ending = run(job)
        except Exception as error:  # noqa: BLE001 whatever a program raises is how its attempt ended
            ending = error
        _say(job, ending)
        fault = _follow(client, report(job, ending, patience))
    return _taken(job, fault)


async def _serve_async(client: AsyncClient, lease: Lease, run: AsyncProgram, patience: Patience) -> bool:
    job = Job(lease)
    ending: Ending
    running = asyncio.ensure_future(run(job))
    async with _kept_async(client, job, running):
        try:
            ending = await running
        except asyncio.CancelledError:
            running.cancel()
            asked = asyncio.current_task()
            if not job.stopped or (asked is not None and asked.cancelling()):
                raise  # it is the orchestrator that is cancelled, not the program alone
            ending = Stopped()
        except Exception as error:  # noqa: BLE001 whatever a program raises is how its attempt ended
            ending = error
        _say(job, ending)
        fault = await _follow_async(client, report(job, ending, patience))
    return _taken(job, fault)


def _say(job: Job, ending: Ending) -> None:
    """The server is told the kind of an error; what it was stands in the orchestrator's own log."""
    if isinstance(ending, Exception) and not isinstance(ending, Stopped):
        log.error("attempt %s failed", job.attempt, exc_info=ending)


def _taken(job: Job, fault: ClientError | None) -> bool:
    if fault is not None:
        log.warning("the end of attempt %s was not taken: %s", job.attempt, fault)
    return fault is None


@contextmanager
def _kept(client: Client, job: Job) -> Iterator[None]:
    """Keeps the lease in a thread while the block runs."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(client, keep(job), stop.wait), name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@asynccontextmanager
async def _kept_async(client: AsyncClient, job: Job, running: asyncio.Future[str | Answer]) -> AsyncIterator[None]:
    """Keeps the lease in a task while the block runs, and cancels the program once it should stop."""
    stop = asyncio.Event()

    async def rest(seconds: float) -> bool:
        if job.stopped and running not in told:
            told.append(running)
            running.cancel()
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
        return stop.is_set()

    told: list[asyncio.Future[str | Answer]] = []
    keeping = asyncio.create_task(_follow_async(client, keep(job), rest))
    keeping.add_done_callback(lambda _: running.cancel() if job.stopped and not told else None)
    try:
        yield
    finally:
        stop.set()
        await keeping


def _follow(client: Client, plan: Plan[T], rest: Callable[[float], object] = time.sleep) -> T | None:
    """Does what a plan says until it ends, or until resting says that it is time to stop."""
    found: object = None
    while True:
        try:
            step = plan.send(found)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        if isinstance(step, Ask):
            try:
                found = client.send(step.call, patience=step.patience)
            except ClientError as error:
                found = error
        elif rest(step.seconds):
            return None


async def _follow_async(
    client: AsyncClient, plan: Plan[T], rest: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> T | None:
    found: object = None
    while True:
        try:
            step = plan.send(found)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        if isinstance(step, Ask):
            try:
                found = await client.send(step.call, patience=step.patience)
            except ClientError as error:
                found = error
        elif await rest(step.seconds):
            return None
