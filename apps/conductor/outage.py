"""A database that is away for a moment, as while it is restarted: what is under way waits for it and goes on.

Threads that live longer than a request must give up a connection that was cut, or each of their statements fails.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from django.db import InterfaceError, OperationalError, close_old_connections

log = structlog.get_logger(__name__)
AWAY = (OperationalError, InterfaceError)
AGAIN_S = 1.0
T = TypeVar("T")


def outlast(work: Callable[[], T], *, patience_s: float, stop: threading.Event) -> T:
    """Does `work`, which must bear being done twice, again until the database is there.

    Raises what the database said last when it stays away for `patience_s`, or as soon as `stop` is set.
    """
    until = time.monotonic() + patience_s
    while True:
        try:
            return work()
        except AWAY as error:
            close_old_connections()
            if stop.wait(AGAIN_S) or time.monotonic() >= until:
                raise
            log.warning("the database is away; it is asked again", error_type=type(error).__name__)
