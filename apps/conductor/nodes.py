"""The worker of the queue `nodes`: attempts run in threads of this process, everything else goes to the broker.

A message means "this team may have something to run". While every slot is taken the worker holds the message that it
has and takes no other, so that the next one goes to a worker with room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import UUID

from django.conf import settings

from apps.conductor import wake as waking
from apps.conductor.pool import EmbeddedPool
from apps.conductor.wake import Binding
from apps.providers.runtimes import runtime
from tikitaka.policy import Policy
from tikitaka.ports import AgentRuntime

_worker: NodeWorker | None = None
_lock = threading.Lock()


class NodeWorker:
    """One per process; its own ends are settled here, what they make ready and nobody here has room for is offered."""

    def __init__(
        self,
        broker: Binding,
        *,
        policy: Policy | None = None,
        runtimes: Callable[[str], AgentRuntime] = runtime,
        slots: int | None = None,
    ) -> None:
        self._pool = EmbeddedPool(
            policy=policy, runtimes=runtimes, slots=slots, here=frozenset({"dispatch"}), elsewhere=broker
        )

    def start(self) -> None:
        """From here on the wake-ups of this process come to it."""
        waking.bind(self._pool)

    def dispatch(self, team: UUID) -> None:
        """Settles and starts what is due for a team, then waits for room for one more attempt."""
        self._pool.runner.dispatch(team)
        self._pool.runner.wait_for_room()

    def stop_claiming(self) -> None:
        """From here on attempts end and none begins."""
        self._pool.runner.stop_claiming()

    def stop(self, timeout_s: float) -> None:
        """Lets attempts end and their ends be written for so long; what still runs then is killed."""
        self._pool.drain(timeout_s)
        self._pool.stop()
        waking.bind(None)


def node_worker() -> NodeWorker:
    """The worker of this process, made when the first message comes."""
    from apps.conductor.broker import BROKER

    with _lock:
        return _worker or use(NodeWorker(BROKER))


def use(worker: NodeWorker) -> NodeWorker:
    """Makes `worker` the one of this process."""
    global _worker
    _worker = worker
    worker.start()
    return worker


def stop_claiming() -> None:
    """Begins to drain the worker of this process, if it has one."""
    if _worker is not None:
        _worker.stop_claiming()


def stop_node_worker() -> None:
    """Ends the worker of this process, if it has one."""
    if _worker is not None:
        _worker.stop(settings.TIKITAKA_DRAIN_S)
