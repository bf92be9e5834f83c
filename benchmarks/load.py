"""Sixteen clients at once for a minute, reading and writing over REST on PostgreSQL: what fails, what is lost.

Prints one JSON line: requests, errors (any answer but the expected one), lost writes (tasks that were answered with 201
against the rows that are there, nodes that were completed against those that are; negative where something was done
twice), and milliseconds at the median, at 95 and at 99 percent. The server is gunicorn with two processes of eight
threads on this machine; DATABASE_URL names a PostgreSQL server on which a database is made for the time of the run.
Bounded in clients and time.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

ROOT = Path(__file__).resolve().parents[1]
CLIENTS_MAX, SECONDS_MAX = 64, 600
_SET_UP = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from apps.accounts.models import User
from apps.accounts.selectors import principal_of
from apps.accounts.services.organizations import found_organization
from apps.conductor.teams import register_agent
from apps.conductor.tokens import issue_service_token
from apps.teams.services.teams import create_team
from tikitaka.authz import MACHINE_SCOPES
user = User.objects.create_user(username="bench")
owner = principal_of(user)
organization = found_organization(actor=owner, name="Bench", owner=user)
for number in range(8):
    team = create_team(actor=owner, organization=organization, name=f"Team {number}", width=8)
    for agent in range(4):
        register_agent(actor=owner, team=team, name=f"Agent {agent}", runtime="external")
    print(team.pk)
issued = issue_service_token(actor=owner, organization=organization, name="load", scopes=MACHINE_SCOPES, days=1)
print(issued.shown)
"""
_COUNT = """
import django; django.setup()
from apps.tasks.models import Message, PlanNode, Task
print(Task.objects.count(), Message.objects.filter(attempt=None).count())
print(PlanNode.objects.filter(status="completed").count())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    clients, seconds = min(options.clients, CLIENTS_MAX), min(options.seconds, SECONDS_MAX)
    folder = Path(tempfile.mkdtemp(prefix="tikitaka-load-"))
    try:
        with database(folder) as env, serving(env) as address:
            *teams, token = python(_SET_UP, env).split()
            result = run(address, teams, token, clients, seconds)
            tasks, prompts, nodes = map(int, python(_COUNT, env).split())
        lost = {"tasks": result["submitted"] - tasks, "messages": result["submitted"] - prompts}
        print(json.dumps(result | {"lost": lost | {"nodes": result["completed"] - nodes}}))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def database(folder: Path) -> Iterator[dict[str, str]]:
    import psycopg

    server = os.environ.get("DATABASE_URL", f"postgres://{getpass.getuser()}@127.0.0.1:5432/test")
    name = f"load_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield {
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
                "DATABASE_URL": urlunsplit(urlsplit(server)._replace(path=f"/{name}")),
                "TIKITAKA_DATA": str(folder),
                "TIKITAKA_EMBEDDER": "off",
                "TIKITAKA_POLICY_REQUESTS_PER_MINUTE": "1000000",
            }
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def serving(env: dict[str, str]) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "gunicorn", "config.wsgi", "-w", "2", "-k", "gthread", "--threads", "8", "-b", f"127.0.0.1:{port}"]
    server = subprocess.Popen([sys.executable, *words, "--log-level", "error", "--keep-alive", "30"], cwd=ROOT, env=env)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def python(code: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def run(address: str, teams: list[str], token: str, clients: int, seconds: int) -> dict[str, Any]:
    wait_for(address)
    until = time.monotonic() + seconds
    people = [Caller(address, random.Random(number), teams, token) for number in range(clients)]
    threads = [threading.Thread(target=caller.work, args=(until,)) for caller in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)
    times = sorted(took for caller in people for took in caller.times)
    counts = sum((caller.counts for caller in people), Counter())
    wrong = sum((caller.wrong for caller in people), Counter())
    at = {f"p{share}_ms": round(times[int(len(times) * share / 100)] * 1_000, 1) for share in (95, 99)}
    return {
        "clients": clients,
        "seconds": seconds,
        "requests": len(times),
        "per_s": round(len(times) / seconds),
        "errors": dict(wrong),
        "submitted": counts["submitted"],
        "completed": counts["completed"],
        "p50_ms": round(statistics.median(times) * 1_000, 1),
        **at,
    }


def wait_for(address: str) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            if httpx2.get(f"{address}/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit("the server did not come up")


class Caller:
    """One client over one connection: half of what it does are reads."""

    def __init__(self, address: str, chance: random.Random, teams: list[str], token: str) -> None:
        self.http = httpx2.Client(base_url=f"{address}/api/v1", timeout=60)
        self.chance, self.teams = chance, teams
        self.token = {"Authorization": f"Bearer {token}"}
        self.times: list[float] = []
        self.counts: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.tasks: list[str] = []

    def work(self, until: float) -> None:
        acts = (self.submit, self.lease, self.read, self.look)
        while time.monotonic() < until:
            self.chance.choice(acts)()

    def ask(self, method: str, path: str, expected: tuple[int, ...], **more: Any) -> Any:
        began = time.monotonic()
        try:
            answer = self.http.request(method, path, **{"headers": self.token, **more})
        except httpx2.TransportError as error:
            self.wrong[type(error).__name__] += 1
            return None
        self.times.append(time.monotonic() - began)
        if answer.status_code not in expected:
            self.wrong[f"{method} {path.split('/')[1]} {answer.status_code}"] += 1
            return None
        return answer.json() if answer.content else {}

    def submit(self) -> None:
        """Sent twice now and then, as after a lost answer."""
        nodes = [{"agentIndex": n, "instruction": "work", "dependsOn": [n - 1] if n > 1 else []} for n in (1, 2)]
        body = {"team": self.chance.choice(self.teams), "prompt": "load", "plan": nodes}
        headers = {**self.token, "Idempotency-Key": str(uuid.uuid4())}
        for _ in range(2 if self.chance.random() < 0.2 else 1):
            made = self.ask("POST", "/tasks", (201,), json=body, headers=headers)
        if made:
            self.counts["submitted"] += 1
            self.tasks.append(made["id"])

    def lease(self) -> None:
        found = self.ask("POST", "/nodes/lease", (200, 204), json={"team": self.chance.choice(self.teams)})
        if not found:
            return
        own = {"Authorization": f"Bearer {found['token']}"}
        spans = {"spans": [{"seq": n, "kind": "command", "text": f"step {n}"} for n in range(1, 6)]}
        path = f"/attempts/{found['attempt']}"
        self.ask("POST", f"{path}/spans/batch", (200,), json=spans, headers=own)
        if self.ask("POST", f"{path}/complete", (200,), json={"output": "done"}, headers=own):
            self.counts["completed"] += 1

    def read(self) -> None:
        if self.tasks:
            self.ask("GET", f"/tasks/{self.chance.choice(self.tasks)}", (200,))

    def look(self) -> None:
        self.ask("GET", "/tasks?order=desc&limit=50", (200,))


if __name__ == "__main__":
    main()
