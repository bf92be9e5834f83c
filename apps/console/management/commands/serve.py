"""manage.py serve"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conductor.hearing import say_here
from apps.conductor.pool import embedded_pool
from apps.conductor.sweeping import sweep_until
from apps.console.demonstration.cast import MARK, PASSWORD
from apps.console.serving import serving


class Command(BaseCommand):
    help = "Site, event streams and worker in one process."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--new", action="store_true", help="begin an empty installation in a data folder without one"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        import uvicorn

        folder = Path(settings.TIKITAKA_DATA)
        demo = (folder / MARK).exists()
        _require_installation(folder, new=options["new"])
        if demo and not _is_loopback(options["host"]):
            raise CommandError("The demonstration's passwords are public: it is served on a loopback address only.")
        with serving(folder) as free:
            if not free:
                raise CommandError(f"{folder} is being served by another process")
            call_command("migrate", verbosity=0)
            with _bound(options["host"], options["port"]) as listener, embedded_pool(), _sweeping():
                self._greet(*listener.getsockname()[:2], demo=demo)
                config = uvicorn.Config("config.asgi:application", log_level="warning", lifespan="on")
                uvicorn.Server(config).run(sockets=[listener])

    def _greet(self, host: str, port: int, *, demo: bool) -> None:
        self.stdout.write(f"Tiki-Taka is at http://{f'[{host}]' if ':' in host else host}:{port}/")
        if demo:
            self.stdout.write(f"Demo logins: operator, reviewer, auditor, owner; password {PASSWORD}")
        self.stdout.write("Ctrl-C ends it.")


def _require_installation(folder: Path, *, new: bool) -> None:
    """Serving never makes a data folder by accident: the demonstration would then take it for somebody's work."""
    database = settings.DATABASES["default"]
    if not database["ENGINE"].endswith("sqlite3") or Path(database["NAME"]).exists():
        return
    if not new:
        raise CommandError(
            f"{folder} holds no installation yet: `make demo` makes one to look at, `serve --new` an empty one."
        )
    folder.mkdir(parents=True, exist_ok=True)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """The listening socket, before anybody is told where the site is."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise CommandError(f"{host}:{port} cannot be used: {error.strerror}") from error
    try:
        yield listener
    finally:
        listener.close()


@contextmanager
def _sweeping() -> Iterator[None]:
    """A thread that sweeps while the block runs, and says that work for this host is done here."""
    stop = threading.Event()
    thread = threading.Thread(
        target=sweep_until, args=(stop,), kwargs={"before": say_here}, name="sweeper", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=30)
