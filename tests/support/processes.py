"""Other processes on the test's own database: for kills at the worst moment and for races between processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]


def start(code: str) -> subprocess.Popen[str]:
    """A Python process with Django set up on the database and folders of the running test."""
    program = "import django\ndjango.setup()\n" + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, timeout: float = 60) -> subprocess.Popen[str]:
    """The same, waited for; `returncode` is negative when a signal ended it."""
    process = start(code)
    process.output, process.errors = process.communicate(timeout=timeout)  # type: ignore[attr-defined]
    return process


@contextmanager
def serving() -> Iterator[str]:
    """The site over a real socket on the running test's database, as `manage.py serve` has it; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port), "--log-level", "error"]
    server = subprocess.Popen(
        program, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=120)


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while True:
        try:
            if urllib.request.urlopen(f"{address}/healthz", timeout=1).status == 200:
                return
        except OSError:
            pass
        assert server.poll() is None, "the server ended"
        assert time.monotonic() < deadline, "the server did not come up"
        time.sleep(0.1)


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        "DATABASE_URL": _database(),
        "SECRET_KEY": settings.SECRET_KEY,
        "TIKITAKA_SEALING_KEY": settings.TIKITAKA_SEALING_KEY,
        "TIKITAKA_DATA": str(settings.TIKITAKA_DATA),
        "TIKITAKA_WORKSPACES": str(settings.TIKITAKA_WORKSPACES),
        "TIKITAKA_REPLAY": str(settings.TIKITAKA_REPLAY),
        "TIKITAKA_EMBEDDER": settings.TIKITAKA_EMBEDDER,
        "TIKITAKA_EXTRACTOR": settings.TIKITAKA_EXTRACTOR,
        "TIKITAKA_PLANNER": settings.TIKITAKA_PLANNER,
        "TIKITAKA_BROKER_URL": "",
        "REDIS_URL": "",
        "PYTHONPATH": str(ROOT),
    }


def _database() -> str:
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    return f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}/{values['NAME']}"
