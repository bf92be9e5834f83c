"""The production binding: jobs as Celery tasks, each in the queue of the workers that do it.

A task carries one id. State, attempts and results live in the database; whoever loses a message loses time only.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from celery import Celery, signals
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, close_old_connections, transaction
from kombu.exceptions import OperationalError
from structlog.contextvars import bound_contextvars

from apps.conductor.hearing import keep_saying
from apps.conductor.hosts import host_of
from apps.conductor.jobs import everyday_jobs
from apps.conductor.nodes import node_worker, stop_claiming, stop_node_worker
from apps.providers.embedding import preload_encoder
from apps.teams.hosts import is_here
from tikitaka.errors import TikiTakaError
from tikitaka.hosts import WorkspaceElsewhere, host_of_queue, host_queue, root

log = structlog.get_logger(__name__)
app = Celery("tikitaka")
app.config_from_object("django.conf:settings", namespace="CELERY")
_AWAY_S = 5.0
_ending = threading.Event()


class CeleryBinding:
    """Sends wake-ups once the transaction has committed. A broker that is away delays work and fails nobody."""

    def __init__(self) -> None:
        self._away_until = 0.0

    def wake(self, job: str, subject: UUID) -> None:
        """`kill` is sent nowhere: whoever runs an attempt looks every second whether its task is being cancelled."""
        if job != "kill":
            transaction.on_commit(partial(self._send, job, subject))

    def send_on(self, job: str, subject: UUID, host: str) -> None:
        """A message that reached the wrong host goes to the right one's queue.

        Not to a common queue, where the next to take it would be the sender: that host's sweep sends it again.
        """
        if host:
            self._send(job, subject, host)

    def _send(self, job: str, subject: UUID, host: str | None = None) -> None:
        if time.monotonic() < self._away_until:
            return
        try:
            name, host = f"tikitaka.{job}", host_of(job, subject) if host is None else host
            own = {"queue": host_queue(app.conf.task_routes[name]["queue"], host)} if host else {}
            app.send_task(name, args=[str(subject)], **own)
        except DatabaseError as error:
            log.warning(
                "it cannot be asked whose job it is; a sweep will find the work", error_type=type(error).__name__
            )
        except (OperationalError, OSError) as error:
            self._away_until = time.monotonic() + _AWAY_S
            log.warning("the broker is away; a sweep will find the work", job=job, error_type=type(error).__name__)


BROKER = CeleryBinding()


def _task(name: str, job: Callable[[UUID], None]) -> None:
    """A job as a task. What breaks is not tried again by the broker: the sweep finds what is still due."""

    def work(subject: str) -> None:
        close_old_connections()
        with bound_contextvars(job=name, subject=subject):
            try:
                job(UUID(subject))
            except WorkspaceElsewhere as elsewhere:
                log.warning("a job was refused and is sent on", code=elsewhere.code, host=elsewhere.host)
                BROKER.send_on(name, UUID(subject), elsewhere.host)
            except TikiTakaError as refused:
                log.warning("a job was refused", code=refused.code)
            except Exception:
                log.exception("a job broke; a sweep will find its work")
        close_old_connections()

    app.task(name=f"tikitaka.{name}")(work)


for _name, _job in (*everyday_jobs().items(), ("dispatch", lambda team: node_worker().dispatch(team))):
    _task(_name, _job)


def _load_encoder(sender: Any = None, **_: Any) -> None:
    """Before any child is forked; a worker that must encode and cannot does not start.

    Celery swallows what a signal handler raises, but not SystemExit.
    """
    if "embed" not in sender.app.amqp.queues.consume_from:
        return
    try:
        preload_encoder()
    except ImproperlyConfigured as error:
        raise SystemExit(f"this worker cannot encode: {error}") from error


def _refuse_others_queues(sender: Any = None, **_: Any) -> None:
    """A worker that takes another host's messages could only send them on, to itself."""
    for queue in sender.app.amqp.queues.consume_from:
        host = host_of_queue(queue)
        if host and not is_here(host):
            raise SystemExit(f"this worker may not serve {queue}: it sees the files {root(settings.TIKITAKA_HOST)}")


def _say_where(sender: Any = None, **_: Any) -> None:
    """People are told when nobody works for the teams of a host."""
    if any(map(host_of_queue, sender.app.amqp.queues.consume_from)):
        keep_saying(_ending)


def _freeze(**_: Any) -> None:
    """What is loaded by now stays: the collector need not look through it while somebody waits for a step.

    Before any child is forked: it would no longer share what is looked through afterwards.
    """
    gc.collect()
    gc.freeze()


def _drain(**_: Any) -> None:
    """In a thread of its own: a signal handler may not wait for locks."""
    threading.Thread(target=stop_claiming, daemon=True).start()


def _end(**_: Any) -> None:
    _ending.set()
    stop_node_worker()


signals.worker_init.connect(_refuse_others_queues)
signals.worker_init.connect(_load_encoder)
signals.worker_init.connect(_freeze)
signals.worker_ready.connect(_say_where)
signals.worker_shutting_down.connect(_drain)
signals.worker_shutdown.connect(_end)
