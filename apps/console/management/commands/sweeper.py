"""manage.py sweeper"""

from __future__ import annotations

import json
import signal
import threading
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import close_old_connections

from apps.conductor.sweep import reconcile, sweep

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    help = "The process that repairs lost messages: finds what is due by query and wakes the workers. One is enough."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=int, default=5, help="seconds between two sweeps (default 5)")
        parser.add_argument("--reconcile-every", type=int, default=600, help="seconds between two comparisons of disk")
        parser.add_argument("--once", action="store_true", help="sweep once, print what was found, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.TIKITAKA_BROKER_URL:
            raise CommandError("Without a broker `serve` sweeps by itself, and `sweep` does it once.")
        if options["once"]:
            self.stdout.write(json.dumps({name: count for name, count in sorted(sweep().items()) if count}))
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        _sweep_until(stop, every=options["every"], reconcile_every=options["reconcile_every"])


def _sweep_until(stop: threading.Event, *, every: int, reconcile_every: int) -> None:
    waited = reconcile_every
    while not stop.is_set():
        try:
            left = sweep()["left_to_other_hosts"]
            log.info("a sweep has ended", left_to_other_hosts=left)
            if waited >= reconcile_every:
                waited = 0
                reconcile()
        except Exception:
            log.exception("a sweep broke; the next one tries again")
        close_old_connections()
        waited += every
        stop.wait(every)
