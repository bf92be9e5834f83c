"""The orchestrators of the examples, as programs of their own, against a server and a worker."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from apps.conductor.pool import embedded_pool
from apps.conductor.sweep import sweep
from apps.conductor.teams import register_agent
from apps.tasks.models import Attempt, Span
from tests.support.cast import Cast
from tests.support.machines import machine, send, service_token
from tests.support.processes import ROOT, environment, serving
from tikitaka.authz import Permission

pytestmark = pytest.mark.django_db(transaction=True)
NODES = ((4, "look around"), (2, "do: say the middle"), (5, "check it"))


@contextmanager
def working() -> Iterator[None]:
    """A worker beside the server: what the server wakes nobody for, its sweeps find."""
    stop = threading.Event()

    def turn() -> None:
        while not stop.wait(0.2):
            sweep()
        connections.close_all()

    with embedded_pool():
        thread = threading.Thread(target=turn)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def submit(cast: Cast) -> str:
    """Theirs, ours, theirs."""
    plan = [
        {"agentIndex": agent, "instruction": told, "dependsOn": [place - 1] if place > 1 else []}
        for place, (agent, told) in enumerate(NODES, start=1)
    ]
    body = {"team": str(cast.team.pk), "prompt": "Build it.", "plan": plan}
    client = machine(service_token(cast.owner, cast.organization))
    return str(send(client, "POST", "/api/v1/tasks", body).json()["id"])


def run(program: str, address: str, cast: Cast, task: str) -> dict[str, Any]:
    scopes = (Permission.ORGANIZATION_VIEW, Permission.NODE_LEASE)
    token = service_token(cast.owner, cast.organization, scopes=scopes, teams=[cast.team.pk])
    words = ["--url", address, "--team", str(cast.team.pk), "--task", task]
    done = subprocess.run(
        [sys.executable, f"examples/orchestrators/{program}", *words],
        cwd=ROOT,
        env={**environment(), "TIKITAKA_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert token not in done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("program", "first", "told"),
    [
        ("plain.py", "Remote has done it, as told in 2 words.", ("command", 2)),
        ("with_langgraph.py", "Done: look around (", ("reasoning", 4)),
    ],
)
def test_it_completes_a_task_with_our_own_workers(
    program: str, first: str, told: tuple[str, int], committed_cast: Cast
) -> None:
    cast = committed_cast
    for name in ("Remote", "Distant"):
        register_agent(actor=cast.operator, team=cast.team, name=name, runtime="external")
    task = submit(cast)
    with serving() as address, working():
        found = run(program, address, cast, task)
    assert found["status"] == "completed"
    outputs = list(Attempt.objects.filter(task=task).order_by("pk").values_list("output", flat=True))
    assert found["outputs"] == outputs
    assert len(outputs) == 3
    assert outputs[0].startswith(first)
    kind, count = told
    theirs = Span.objects.filter(attempt__task=task, attempt__agent__runtime="external")
    assert theirs.filter(kind=kind, status="completed").count() == count
