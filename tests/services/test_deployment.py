"""The commands of compose.yaml, run by hand: each role in a process of its own, with production's settings."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
import yaml
from django.db import connection

from apps.conductor.story import close_thread, submit
from apps.memory.models import Flush
from apps.tasks.models import Task
from tests.support import processes
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.workers import Fleet, fleet, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
SERVICES: dict[str, Any] = yaml.safe_load((processes.ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
BIN = Path(sys.executable).parent


class Deployment:
    """Roles by name, each with the environment that its container would have."""

    def __init__(self, workers: Fleet, folder: Path) -> None:
        self._folder = folder
        self.application = f"app_{secrets.token_hex(6)}"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        secret, sealing = folder / "secret_key", folder / "sealing_key"
        secret.write_text(secrets.token_urlsafe(64))
        sealing.write_text(workers.environment["TIKITAKA_SEALING_KEY"])
        self.token = secrets.token_urlsafe(24)
        token = folder / "metrics_token"
        token.write_text(self.token)
        dropped = ("SECRET_KEY", "TIKITAKA_SEALING_KEY", "TIKITAKA_EMBED_HERE")
        self._environment = {name: value for name, value in workers.environment.items() if name not in dropped} | {
            "DJANGO_SETTINGS_MODULE": "config.settings.production",
            "SECRET_KEY_FILE": str(secret),
            "TIKITAKA_SEALING_KEY_FILE": str(sealing),
            "TIKITAKA_METRICS_TOKEN_FILE": str(token),
            "ALLOWED_HOSTS": "tikitaka.example",
        }

    def start(self, role: str, port: int = 0) -> subprocess.Popen[bytes]:
        """Starts a role by the words of compose.yaml; only the port is another."""
        words = [word.replace("8000", str(port)) if port else word for word in SERVICES[role]["command"]]
        words = [word.replace("tikitaka_app", self.application) for word in words]
        log = (self._folder / f"{role}.log").open("wb")
        extra = {name: value for name, value in SERVICES[role]["environment"].items() if name == "TIKITAKA_EMBED_HERE"}
        if role != "migrate":
            extra["DATABASE_URL"] = self._as_application()
        self._processes[role] = subprocess.Popen(
            [str(BIN / words[0]) if (BIN / words[0]).exists() else words[0], *words[1:]],
            cwd=processes.ROOT,
            env=self._environment | extra | {"PATH": f"{BIN}:{os.environ['PATH']}"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        return self._processes[role]

    def _as_application(self) -> str:
        found = urlsplit(self._environment["DATABASE_URL"])
        return urlunsplit(found._replace(netloc=f"{self.application}@{found.hostname}:{found.port}"))

    def said(self, role: str) -> str:
        return (self._folder / f"{role}.log").read_text(errors="replace")

    def end(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def deployment(committed_cast: Cast, tmp_path: Path) -> Iterator[Deployment]:
    if connection.vendor != "postgresql":
        pytest.fail("this needs PostgreSQL and Redis: run `make test-services`")
    with fleet(tmp_path) as workers:
        found = Deployment(workers, tmp_path)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE ROLE {found.application} LOGIN")
        try:
            yield found
        finally:
            found.end()
            with connection.cursor() as cursor:
                cursor.execute(f"DROP OWNED BY {found.application}")
                cursor.execute(f"DROP ROLE {found.application}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def status(port: int, path: str, token: str = "") -> int:
    headers = {"Host": "tikitaka.example", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        return int(urllib.request.urlopen(request, timeout=5).status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return 0


def test_every_role_starts_and_a_task_goes_the_whole_way(committed_cast: Cast, deployment: Deployment) -> None:
    assert deployment.start("migrate").wait(timeout=120) == 0, deployment.said("migrate")
    web, live = free_port(), free_port()
    deployment.start("web", web)
    deployment.start("live", live)
    for role in ("control", "nodes", "embed", "flush", "sweeper"):
        deployment.start(role)
    for port, role in ((web, "web"), (live, "live")):
        wait_until(lambda port=port: status(port, "/healthz") == 200, 90, lambda role=role: deployment.said(role))
        assert status(port, "/readyz") == 200
        assert status(port, "/metrics", deployment.token) == 200
    health = [sys.executable, *SERVICES["web"]["healthcheck"]["test"][2:], str(web)]
    environment = {"ALLOWED_HOSTS": "tikitaka.example"}
    assert subprocess.run(health, cwd=processes.ROOT, env=environment, timeout=20, check=False).returncode == 0

    task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1), node(2)]).task
    done = Task.objects.filter(pk=task.pk, status="completed")
    wait_until(done.exists, 90, lambda: deployment.said("nodes")[-2000:] + deployment.said("control")[-2000:])
    close_thread(actor=committed_cast.operator, team=committed_cast.team)
    wait_until(Flush.objects.filter(status="done").exists, 90, lambda: deployment.said("flush")[-3000:])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"SECRET_KEY_FILE": ""}, "SECRET_KEY"),
        ({"TIKITAKA_SEALING_KEY_FILE": "/nowhere"}, "TIKITAKA_SEALING_KEY_FILE"),
        ({"TIKITAKA_DEBUG": "1"}, "TIKITAKA_DEBUG"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS"),
        ({"DATABASE_URL": "mysql://x"}, "DATABASE_URL"),
        ({"TIKITAKA_BROKER_URL": "http://x"}, "TIKITAKA_BROKER_URL"),
        ({"TIKITAKA_METRICS_TOKEN": "short", "TIKITAKA_METRICS_TOKEN_FILE": ""}, "TIKITAKA_METRICS_TOKEN"),
        ({"TIKITAKA_WORKERS": "many"}, "TIKITAKA_WORKERS"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(deployment: Deployment, changes: dict[str, str], named: str) -> None:
    deployment._environment |= changes
    process = deployment.start("sweeper")
    assert process.wait(timeout=120) != 0
    assert named in deployment.said("sweeper").splitlines()[-1]
