"""Sweeping again and again, in a process of its own or beside the site: what breaks once is tried again."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog
from django.db import close_old_connections, connections

from apps.conductor.sweep import reconcile, sweep

log = structlog.get_logger(__name__)
SWEEP_S = 5
RECONCILE_S = 600


def sweep_until(
    stop: threading.Event,
    *,
    every_s: int = SWEEP_S,
    reconcile_every_s: int = RECONCILE_S,
    before: Callable[[], None] = lambda: None,
) -> None:
    """Sweeps at once and then every few seconds until `stop` is set; compares the disk at first and now and then.

    `before` is called ahead of every sweep. A database that is away keeps nobody from sweeping once it is back.
    """
    waited = reconcile_every_s
    while not stop.is_set():
        try:
            before()
            found = sweep()
            log.info("a sweep has ended", left_to_other_hosts=found["left_to_other_hosts"])
            if waited >= reconcile_every_s:
                waited = 0
                reconcile()
        except Exception:
            log.exception("a sweep broke; the next one tries again")
        close_old_connections()
        waited += every_s
        stop.wait(every_s)
    connections.close_all()
