"""manage.py sweeper"""

from __future__ import annotations

import json
import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conductor.sweep import sweep
from apps.conductor.sweeping import RECONCILE_S, SWEEP_S, sweep_until


class Command(BaseCommand):
    help = "The process that repairs lost messages: finds what is due by query and wakes the workers. One is enough."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--every", type=int, default=SWEEP_S, help="seconds between two sweeps (default %(default)s)"
        )
        parser.add_argument(
            "--reconcile-every",
            type=int,
            default=RECONCILE_S,
            help="seconds between two comparisons of the disk with the record (default %(default)s)",
        )
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
        sweep_until(stop, every_s=options["every"], reconcile_every_s=options["reconcile_every"])
