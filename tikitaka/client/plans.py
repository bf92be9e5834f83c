"""What an orchestrator does about a lease, without sending: plans of things to ask and moments to rest.

Both orchestrators follow the same plans. What is asked comes back as its answer, or as the error that it ended with.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from tikitaka.client.calls import Call, Id, Reply
from tikitaka.client.errors import ClientError, Refused, Unreachable
from tikitaka.client.exchange import Lost, Patience
from tikitaka.client.job import Ending, Job
from tikitaka.client.operations.external import lease_node
from tikitaka.client.records.external import Lease

T = TypeVar("T")
LOOK_S = 0.25
LATER_S = 2.0
# A server may be away for a minute, and an answer is worth waiting for as long as a lease holds.
HOLD = Patience(tries=12)
# What comes again by itself is not tried again.
_ONCE = Patience(tries=1)


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this call; send back what it gives, or the error."""

    call: Call[Any]
    patience: Patience


@dataclass(frozen=True, slots=True)
class Rest:
    """Wait so many seconds, or less when it is time to stop."""

    seconds: float


Plan = Generator[Ask | Rest, Any, T]


def next_lease(team: Id, agents: Collection[Id] | None, wait_s: int, patience: Patience) -> Plan[Lease | None]:
    """One lease, or None when nothing became ready. A server that is away or busy is asked again, patiently."""
    misses = 0
    while True:
        found: Lease | ClientError | None = yield Ask(lease_node(team, agents=agents, wait_s=wait_s), _ONCE)
        if not isinstance(found, ClientError):
            return found
        misses += 1
        pause = patience.pause_s(misses, _as_lost(found))
        if pause is None:
            raise found
        yield Rest(pause)


def _as_lost(error: ClientError) -> Reply | Lost:
    """The error of a lease as what came back: a refusal that is not about the moment ends the patience."""
    if isinstance(error, Refused):
        return Reply(status=error.status, content=b"", retry_after_s=error.retry_after_s)
    return Lost(str(error))


def keep(job: Job) -> Plan[None]:
    """Keeps the lease and passes on spans, until the lease is lost or somebody stops it."""
    due = time.monotonic() + job.heartbeat_s
    tell = time.monotonic()
    while not job.lost:
        yield Rest(LOOK_S)
        batch = job.batch() if time.monotonic() >= tell else None
        if batch is not None:
            found = yield Ask(batch.call, _ONCE)
            job.told(batch, found)
            if isinstance(found, ClientError):
                tell = time.monotonic() + LATER_S
        if time.monotonic() >= due:
            due = time.monotonic() + job.heartbeat_s
            job.beaten((yield Ask(job.beat(), _ONCE)))


def report(job: Job, ending: Ending, patience: Patience) -> Plan[ClientError | None]:
    """Sends the last spans and the end; what went wrong, or None when it was taken."""
    while not job.lost and job.tells:
        batch = job.batch()
        if batch is None:
            yield Rest(LOOK_S)
            continue
        found = yield Ask(batch.call, patience)
        job.told(batch, found)
        if isinstance(found, Unreachable):
            return found
    if job.lost:
        return Unreachable("the lease is lost")
    found = yield Ask(job.end(ending), patience)
    return found if isinstance(found, ClientError) else None
