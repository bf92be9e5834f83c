"""manage.py serve"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from apps.conductor.pool import embedded_pool
from apps.conductor.sweep import reconcile, sweep
from apps.console.demonstration.cast import PASSWORD
from apps.console.serving import serving

log = structlog.get_logger(__name__)
_SWEEP_S = 5
_RECONCILE_EVERY = 120


class Command(BaseCommand):
    help = "Site, event streams and worker in one process."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        import uvicorn

        with serving(Path(settings.TIKITAKA_DATA)) as free:
            if not free:
                raise CommandError(f"{settings.TIKITAKA_DATA} is being served by another process")
            call_command("migrate", verbosity=0)
            with embedded_pool(), _sweeping():
                self._greet(options["host"], options["port"])
                uvicorn.run(
                    "config.asgi:application",
                    host=options["host"],
                    port=options["port"],
                    log_level="warning",
                    lifespan="off",
                )

    def _greet(self, host: str, port: int) -> None:
        self.stdout.write(f"Tiki-Taka is at http://{host}:{port}/")
        if (Path(settings.TIKITAKA_DATA) / ".tikitaka-demo").exists():
            self.stdout.write(f"Demo logins: operator, reviewer, auditor, owner; password {PASSWORD}")
        self.stdout.write("Ctrl-C ends it.")


class _sweeping:  # noqa: N801 reads as a verb where it is used
    """A thread that sweeps every few seconds while the block runs, and reconciles now and then."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="sweeper", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=30)

    def _work(self) -> None:
        rounds = 0
        while not self._stop.wait(_SWEEP_S if rounds else 0):
            try:
                sweep()
                if rounds % _RECONCILE_EVERY == 0:
                    reconcile()
            except Exception:
                log.exception("a sweep broke; the next one tries again")
            rounds += 1
        connections.close_all()
