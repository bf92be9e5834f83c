"""The production binding: jobs as Celery tasks, each in the queue of the workers that do it.

A task carries one id. State, attempts and results live in the database; whoever loses a message loses time only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from celery import Celery, signals
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from kombu.exceptions import OperationalError
from structlog.contextvars import bound_contextvars

from apps.conductor.jobs import everyday_jobs
from apps.conductor.nodes import node_worker, stop_claiming, stop_node_worker
from apps.providers.embedding import preload_encoder
from tikitaka.errors import TikiTakaError

log = structlog.get_logger(__name__)
app = Celery("tikitaka")
app.config_from_object("django.conf:settings", namespace="CELERY")
_AWAY_S = 5.0


class CeleryBinding:
    """Sends wake-ups once the transaction has committed. A broker that is away delays work and fails nobody."""

    def __init__(self) -> None:
        self._away_until = 0.0

    def wake(self, job: str, subject: UUID) -> None:
        """`kill` is sent nowhere: whoever runs an attempt looks every second whether its task is being cancelled."""
        if job != "kill":
            transaction.on_commit(partial(self._send, job, subject))

    def _send(self, job: str, subject: UUID) -> None:
        if time.monotonic() < self._away_until:
            return
        try:
            app.send_task(f"tikitaka.{job}", args=[str(subject)])
        except (OperationalError, OSError) as error:
            self._away_until = time.monotonic() + _AWAY_S
            log.warning("the broker is away; a sweep will find the work", job=job, error_type=type(error).__name__)


BROKER = CeleryBinding()


def _task(name: str, job: Callable[[UUID], None]) -> None:
    """A job as a task. What breaks is not tried again by the broker: the sweep finds what is still due."""

    def work(subject: str) -> None:
        with bound_contextvars(job=name, subject=subject):
            try:
                job(UUID(subject))
            except TikiTakaError as refused:
                log.warning("a job was refused", code=refused.code)
            except Exception:
                log.exception("a job broke; a sweep will find its work")

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


def _drain(**_: Any) -> None:
    """In a thread of its own: a signal handler may not wait for locks."""
    threading.Thread(target=stop_claiming, daemon=True).start()


def _end(**_: Any) -> None:
    stop_node_worker()


signals.worker_init.connect(_load_encoder)
signals.worker_shutting_down.connect(_drain)
signals.worker_shutdown.connect(_end)
