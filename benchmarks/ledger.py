"""What the record costs: chained entries through recording(), spans in bulk, beside plain rows in the same run.

Prints one JSON line with appends a second, one entry a transaction, by one thread and by eight on one chain: on SQLite
(on a memory file system where there is one), and on PostgreSQL too when DATABASE_URL names an empty database there.
`plain` is one row a transaction by the bare driver into a table like the ledger's without its triggers, `atomic` the
same through Django's transaction; `spans` compares 100 a transaction with one a transaction. Each span is redacted
either way, which no batch makes cheaper; `spans_stored` is the same comparison of what has been redacted before. What a
batch saves above all is waiting for the disk, which a memory file system does not do: name a folder on one to see it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MEMORY = Path("/dev/shm")
THREADS = (1, 8)
BATCH = 100
SPAN_TEXT = "$ python -m pytest tests/test_api.py\n12 passed in 3.41s; wrote code/apps/server/routes.py\n" * 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each measurement")
    parser.add_argument("--folder", type=Path, default=MEMORY if MEMORY.is_dir() else None, help="where data lies")
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options.rounds, options.seconds)))
        return
    folder = Path(tempfile.mkdtemp(prefix="tikitaka-bench-", dir=options.folder))
    try:
        result: dict = {"file_system": "memory" if folder.is_relative_to(MEMORY) else "disk"}
        url = os.environ.get("DATABASE_URL", "")
        for name in ("sqlite", "postgresql") if url.startswith("postgres") else ("sqlite",):
            result[name] = alone(name, folder, "" if name == "sqlite" else url)
        print(json.dumps(result))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def alone(name: str, folder: Path, url: str) -> dict:
    """One database in a process of its own, since settings are read once."""
    environment = os.environ | {
        "TIKITAKA_DATA": str(folder / name),
        "TIKITAKA_EMBEDDER": "off",
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        "DATABASE_URL": url,
    }
    (folder / name).mkdir()
    command = [sys.executable, __file__, *sys.argv[1:], "--only", name]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measure(rounds: int, seconds: float) -> dict:
    """Medians over the rounds; what is compared alternates in each of them."""
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    chain, spans = Chain(), Spans()
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for threads in THREADS:
            for kind, work in (("plain", chain.plain), ("atomic", chain.atomic), ("chained", chain.chained)):
                found.setdefault(f"{kind}_{threads}", []).append(rate(work, threads, seconds))
        found.setdefault("spans_redacted_only", []).append(rate(spans.redact, 1, seconds))
        found.setdefault("spans_stored_single", []).append(rate(lambda: spans.store(1), 1, seconds))
        found.setdefault("spans_stored_bulk", []).append(rate(lambda: spans.store(BATCH), 1, seconds) * BATCH)
        found.setdefault("spans_single", []).append(rate(spans.single, 1, seconds))
        found.setdefault("spans_bulk", []).append(rate(spans.bulk, 1, seconds) * BATCH)
    chain.check()
    result = {f"{name}_per_s": round(statistics.median(values)) for name, values in found.items()}
    for threads in THREADS:
        result[f"chained_over_plain_{threads}"] = ratio(found[f"chained_{threads}"], found[f"plain_{threads}"])
    result["spans_bulk_over_single"] = ratio(found["spans_bulk"], found["spans_single"])
    result["spans_stored_bulk_over_single"] = ratio(found["spans_stored_bulk"], found["spans_stored_single"])
    return result


def ratio(above: list[float], below: list[float]) -> float:
    """The median of the rounds' ratios."""
    return round(statistics.median(one / other for one, other in zip(above, below, strict=True)), 2)


def rate(work: Callable[[], Any], threads: int, seconds: float) -> float:
    """Calls a second of some threads together, each with its connection open before the clock runs."""
    from django.db import connection

    counts = [0] * threads
    errors: list[BaseException] = []
    ready = threading.Barrier(threads + 1)
    until = 0.0

    def loop(place: int) -> None:
        try:
            work()
            ready.wait()
            ready.wait()
            while time.perf_counter() < until:
                work()
                counts[place] += 1
        except Exception as error:  # noqa: BLE001 whatever ends a thread ends the measurement
            errors.append(error)
            ready.abort()
        finally:
            connection.close()

    running = [threading.Thread(target=loop, args=(place,)) for place in range(threads)]
    for thread in running:
        thread.start()
    try:
        ready.wait()
        began = time.perf_counter()
        until = began + seconds
        ready.wait()
    except threading.BrokenBarrierError:
        pass
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts) / (time.perf_counter() - began)


class Chain:
    """One organization's log, and a table of the same shape without chain and triggers."""

    def __init__(self) -> None:
        from django.db import connection

        from tikitaka.ledger.entries import Actor

        self.organization, self.team = uuid.uuid4(), uuid.uuid4()
        self.actor = Actor(kind="policy", id="recognition")
        self.chained()
        self.number = itertools.count()
        with connection.cursor() as cursor:
            for statement in like_the_ledger(cursor):
                cursor.execute(statement)
            cursor.execute("SELECT * FROM ledger_entry WHERE seq = 1")
            self.columns = [column[0] for column in cursor.description]
            self.row = cursor.fetchone()
        self.insert = f"INSERT INTO bench_row ({', '.join(self.columns)}) VALUES ({', '.join(['%s'] * len(self.row))})"
        self.sqlite = connection.vendor == "sqlite"

    def chained(self) -> None:
        """A typical entry, the way every transition of the product writes its own."""
        from apps.ledger.services import recording
        from tikitaka.ledger.events import RecipientWithheld

        with recording(self.organization, actor=self.actor) as ledger:
            ledger.record(
                RecipientWithheld(
                    note=uuid.uuid4(),
                    team=self.team,
                    recipient=uuid.uuid4(),
                    reason="below_threshold",
                    score_bp=4120,
                    threshold_bp=7200,
                )
            )

    def plain(self) -> None:
        """One transaction of the bare driver; in eight threads on SQLite in turn, as the product's writers are."""
        from django.db import connection

        if connection.connection is None:
            connection.ensure_connection()
        with _turn:
            driver = connection.connection
            driver.execute("BEGIN IMMEDIATE" if self.sqlite else "BEGIN")
            driver.execute(self.insert.replace("%s", "?") if self.sqlite else self.insert, self._fresh())
            driver.execute("COMMIT")

    def atomic(self) -> None:
        from django.db import connection

        from apps.ledger.writing import writing

        with writing(), connection.cursor() as cursor:
            cursor.execute(self.insert, self._fresh())

    def _fresh(self) -> list[Any]:
        """The entry's row again, with a new id, number and subject."""
        identity = uuid.uuid4()
        new = {"id": identity.hex if self.sqlite else identity, "seq": next(self.number), "subject_id": str(identity)}
        return [new.get(name, value) for name, value in zip(self.columns, self.row, strict=True)]

    def check(self) -> None:
        """What was measured is a chain that holds."""
        from apps.ledger.selectors import logs, verify_log

        assert verify_log(logs(self.organization).get()).valid


_turn = threading.Lock()


def like_the_ledger(cursor: Any) -> list[str]:
    """Statements that make bench_row: columns, keys and indexes of ledger_entry."""
    if cursor.db.vendor == "postgresql":
        return ["DROP TABLE IF EXISTS bench_row", "CREATE TABLE bench_row (LIKE ledger_entry INCLUDING ALL)"]
    cursor.execute("SELECT sql FROM sqlite_master WHERE tbl_name = 'ledger_entry' AND type IN ('table', 'index')")
    made = [sql.replace('"ledger_entry', '"bench_row') for (sql,) in cursor.fetchall() if sql]
    return sorted(made, reverse=True)  # the table before its indexes


class Spans:
    """A running attempt whose spans are saved by the product's own service."""

    def __init__(self) -> None:
        from apps.accounts.models import User
        from apps.accounts.selectors import principal_of
        from apps.accounts.services.organizations import found_organization
        from apps.conductor.story import submit
        from apps.conductor.teams import register_agent
        from apps.tasks.services.claim import claim_ready
        from apps.teams.services.teams import create_team
        from tikitaka.policy import DEFAULT

        user = User.objects.create_user(username=f"bench-{uuid.uuid4().hex[:8]}")
        actor = principal_of(user)
        organization = found_organization(actor=actor, name="Bench", owner=user)
        team = create_team(actor=actor, organization=organization, name="Bench", work_areas={"general": ["code/**"]})
        for number in (1, 2):
            register_agent(actor=actor, team=team, name=f"Agent {number}", command=["none"])
        plan = [
            {"agentIndex": 1, "instruction": "x", "dependsOn": [], "workArea": "general", "writeIntent": "write"},
        ]
        submit(actor=actor, team=team, prompt="x", plan=plan)
        (self.claimed,) = claim_ready(team=team.pk, organization=team.organization_id, policy=DEFAULT)
        self.policy = DEFAULT
        self.last = 0
        self.redacted = self.redact()

    def single(self) -> None:
        self._save(1)

    def bulk(self) -> None:
        self._save(BATCH)

    def redact(self) -> tuple[Any, ...]:
        """What a span costs before it is a row; no batch makes that cheaper."""
        from apps.tasks.services.attempts import span_values
        from tikitaka.capture.events import SpanDraft

        self.last += 1
        draft = SpanDraft(kind="command", text=f"{self.last} {SPAN_TEXT}")
        return span_values(self.claimed.attempt, self.last, draft, at=datetime.now(UTC), policy=self.policy)

    def store(self, count: int) -> None:
        """Spans that have been redacted before, under new numbers."""
        from apps.tasks.services.attempts import store_spans

        attempt, _, *values = self.redacted
        rows = [(attempt, self.last + place, *values) for place in range(1, count + 1)]
        self.last += count
        store_spans(attempt=attempt, fence=self.claimed.fence, rows=rows)

    def _save(self, count: int) -> None:
        from apps.tasks.services.attempts import save_spans
        from tikitaka.capture.events import SpanDraft

        first = self.last + 1
        self.last += count
        spans = [(seq, SpanDraft(kind="command", text=f"{seq} {SPAN_TEXT}")) for seq in range(first, first + count)]
        save_spans(attempt=self.claimed.attempt, fence=self.claimed.fence, spans=spans, policy=self.policy)


if __name__ == "__main__":
    main()
