"""What the REST door costs beside a minimal view of the same framework, over sockets as in production.

Prints one JSON line: requests a second of a minimal DRF view that answers a constant, and as ratios to it: GET of a
note with every verdict, a page of 50 tasks at the beginning and behind the middle of many, two POSTs (a task that is
submitted, and a batch of one span of a running attempt; both durable, the former with its entry of the ledger), and
approving a note (decision, verdicts, entries, landing to come). One gunicorn worker, two clients, a connection for
each request; the site's middleware and authentication are on for all of them. Data on a memory file system where there
is one; on PostgreSQL when DATABASE_URL names an empty database there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TASKS = 2_000
NOTES = 60  # to approve in each round
CLIENTS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each measurement")
    options = parser.parse_args()
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="tikitaka-bench-", dir=memory if memory.is_dir() else None))
    try:
        print(json.dumps(measure(folder, options.rounds, options.seconds)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, rounds: int, seconds: float) -> dict[str, Any]:
    ready(folder)
    stage = Stage(rounds * (NOTES + 1))
    found: dict[str, list[float]] = {}
    with serving() as port:
        stage.port = port
        for _ in range(rounds):
            plain = rate(stage.plain, seconds)
            found.setdefault("plain", []).append(plain)
            for name, act in stage.acts():
                found.setdefault(name, []).append(rate(act, seconds) / plain)
    result: dict[str, Any] = {"database": stage.vendor, "rounds": rounds, "rows": TASKS}
    result["plain_per_s"] = round(statistics.median(found.pop("plain")))
    return result | {f"{name}_over_plain": round(statistics.median(values), 3) for name, values in found.items()}


def rate(act: Callable[[], None], seconds: float) -> float:
    """Calls a second of all clients together. What can be done only so often ends earlier."""
    act()
    counts = [0] * CLIENTS
    faults: list[OSError | SystemExit] = []
    began = time.perf_counter()

    def work(place: int) -> None:
        try:
            while time.perf_counter() - began < seconds and not faults:
                act()
                counts[place] += 1
        except StopIteration:
            pass
        except (OSError, SystemExit) as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return sum(counts) / (time.perf_counter() - began)


def ready(folder: Path) -> None:
    """Django on the data of this run, with one address more than the site has."""
    sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(sys.path[:2]),
        "TIKITAKA_DATA": str(folder / "data"),
        "TIKITAKA_EMBEDDER": "fake",
        "TIKITAKA_POLICY_REQUESTS_PER_MINUTE": "1000000",
        "DJANGO_SETTINGS_MODULE": "rest_settings",
        "ALLOWED_HOSTS": "127.0.0.1",
    }
    (folder / "data").mkdir()
    import django

    django.setup()


@contextmanager
def serving() -> Iterator[int]:
    """One gunicorn worker; the port at which it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        "-m",
        "gunicorn",
        "config.wsgi",
        "-w",
        "1",
        "-k",
        "sync",
        "-b",
        f"127.0.0.1:{port}",
        "--log-level",
        "error",
    ]
    server = subprocess.Popen([sys.executable, *words], cwd=ROOT)
    try:
        wait_for(port)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not come up")


class Stage:
    """An organization with a team, many tasks, and notes that wait; callers with a token and with a session."""

    def __init__(self, notes: int) -> None:
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", verbosity=0)
        self.vendor = connection.vendor
        self.port = 0
        self._people()
        self._rows()
        self.waiting = [self._note() for _ in range(notes)]
        self.deciding: Iterator[Any] = iter(())

    def _people(self) -> None:
        from apps.accounts.models import User
        from apps.accounts.selectors import principal_of
        from apps.accounts.services.members import set_role
        from apps.accounts.services.organizations import found_organization
        from apps.conductor.teams import register_agent
        from apps.conductor.tokens import issue_service_token
        from apps.teams.services.teams import create_team
        from tikitaka.authz import MACHINE_SCOPES, Role

        owner, reviewer = (User.objects.create_user(username=name) for name in ("owner", "reviewer"))
        self.owner = principal_of(owner)
        organization = found_organization(actor=self.owner, name="Bench", owner=owner)
        set_role(actor=self.owner, organization=organization, user=reviewer, role=Role.REVIEWER)
        self.team = create_team(actor=self.owner, organization=organization, name="Bench")
        for number in range(1, 5):
            register_agent(actor=self.owner, team=self.team, name=f"Agent {number}", runtime="external")
        issued = issue_service_token(
            actor=self.owner, organization=organization, name="bench", scopes=MACHINE_SCOPES, days=1
        )
        self.token = {"Authorization": f"Bearer {issued.shown}"}
        self.session = session_of(reviewer)

    def _rows(self) -> None:
        from apps.tasks.services.submit import submit_task

        tasks = [submit_task(actor=self.owner, team=self.team, prompt=f"task {n}").task for n in range(TASKS)]
        self.middle = tasks[TASKS // 2].pk
        self.note = self._note()

    def _note(self) -> Any:
        from django.conf import settings

        from apps.memory.services.review import NoteText, write_note

        text = NoteText(content=f"Fact {time.perf_counter_ns()} of the bench.", description="When benching")
        return write_note(actor=self.owner, team=self.team, text=text, policy=settings.TIKITAKA_POLICY)

    def acts(self) -> Iterator[tuple[str, Callable[[], None]]]:
        from apps.api.paging import cursor_of

        yield "get_note", lambda: self.ask("GET", f"/api/v1/notes/{self.note.pk}", **self.token)
        yield "page_of_50", lambda: self.ask("GET", "/api/v1/tasks", "limit=50", **self.token)
        cursor = f"limit=50&cursor={cursor_of(self.middle)}"
        yield "page_of_50_behind_the_middle", lambda: self.ask("GET", "/api/v1/tasks", cursor, **self.token)
        body = json.dumps({"team": str(self.team.pk), "prompt": "Add a health check."})
        yield "post_task", lambda: self.ask("POST", "/api/v1/tasks", "", body, 201, **self.token)
        yield from self._spans()
        batch = [self.waiting.pop() for _ in range(NOTES + 1)]
        self.deciding = iter(batch)
        yield "approve_note", self.approve

    def _spans(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Of an attempt that is leased for this round and completed behind it."""
        plan = [{"agentIndex": 1, "instruction": "work"}]
        task = json.dumps({"team": str(self.team.pk), "prompt": "spans", "plan": plan})
        self.ask("POST", "/api/v1/tasks", "", task, 201, **self.token)
        lease = self.ask("POST", "/api/v1/nodes/lease", "", json.dumps({"team": str(self.team.pk)}), **self.token)
        attempt, token = f"/api/v1/attempts/{lease['attempt']}", {"Authorization": f"Bearer {lease['token']}"}
        numbers = itertools.count(1)

        def append() -> None:
            span = {"seq": next(numbers), "kind": "reasoning", "text": "The health check answers at its address."}
            self.ask("POST", f"{attempt}/spans/batch", "", json.dumps({"spans": [span]}), **token)

        yield "post_span", append
        self.ask("POST", f"{attempt}/complete", "", json.dumps({"output": "done"}), **token)

    def plain(self) -> None:
        self.ask("GET", "/bench/plain")

    def approve(self) -> None:
        note = next(self.deciding)
        headers = {"If-Match": f'"{note.content_digest}"', **self.session}
        self.ask("POST", f"/api/v1/notes/{note.pk}/approve", "", "{}", 200, **headers)

    def ask(self, method: str, path: str, query: str = "", body: str = "", expected: int = 200, **headers: str) -> Any:
        """One request over a connection of its own; raises when it is not answered as expected."""
        head = [f"{method} {path}?{query} HTTP/1.0", "Host: 127.0.0.1", "Content-Type: application/json"]
        head += [f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in headers.items())]
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall("\r\n".join([*head, "", body]).encode())
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        if int(answer[9:12]) != expected:
            raise SystemExit(f"{method} {path}: {answer[:300]!r}")
        return json.loads(answer.partition(b"\r\n\r\n")[2]) if method == "POST" else None


def session_of(user: Any) -> dict[str, str]:
    """The cookies of a person who is logged in, with the token that a change needs."""
    from django.contrib.auth import login
    from django.contrib.sessions.backends.signed_cookies import SessionStore
    from django.http import HttpRequest
    from django.middleware.csrf import get_token

    request = HttpRequest()
    request.session = SessionStore()
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    request.session.save()
    csrf = get_token(request)
    cookies = {"sessionid": request.session.session_key, "csrftoken": request.META["CSRF_COOKIE"]}
    return {"Cookie": "; ".join(itertools.starmap("{}={}".format, cookies.items())), "X-CSRFToken": csrf}


if __name__ == "__main__":
    main()
