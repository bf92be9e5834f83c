"""An embedded installation in a folder of its own, run by commands as people run them, and a database to move it to."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]

# Two organizations, a task that ran, rows that are hard to copy, and enough of them to be killed among.
_FILL = """
from datetime import timedelta
from django.core.management import call_command
from apps.accounts.models import User
from apps.ledger import clock
from apps.ledger.services import deny, recording
from apps.providers.models import VectorCache
from apps.tasks.models import Attempt, PlanNode, Span
from tests.support.cast import assemble
from tikitaka.ledger.entries import SYSTEM
from tikitaka.ledger.events import AccessDenied

cast = assemble()
call_command("run_task", "do: think a while\\ndo: say hello", team=str(cast.team.pk), user="operator")
nodes = list(PlanNode.objects.order_by("pk"))
# The first node refers to the last, which is copied after it and in another batch.
PlanNode.objects.bulk_create(
    PlanNode(organization=cast.organization, task=nodes[0].task, index=100 + n, agent=nodes[0].agent, instruction="x",
             work_area="general", writes=False, status="cancelled", blocked_by=nodes[0])
    for n in range(1_100)
)
last = PlanNode.objects.order_by("pk").last()
PlanNode.objects.filter(pk=nodes[0].pk).update(blocked_by=last)
hard = {"big": 1e20, "small": 1e-7, "whole": 2.0, "minus": -0.0, "a": 2**70}
hard["z"] = [None, True, {"ü": "\\u2028 ✓ \\U0001f3fe"}]
attempt, now = Attempt.objects.order_by("pk").first(), clock.now()
hostile = "\\\\ \\\\. tab\\t line\\n é"
Span.objects.bulk_create(
    Span(attempt=attempt, seq=100 + n, kind="reasoning", text=hostile, data=hard, at=now + timedelta(microseconds=n))
    for n in range(12_000)
)
VectorCache.objects.bulk_create(
    VectorCache(model_digest="m", text_digest=str(n), vector=bytes(range(256)) * 6) for n in range(300)
)
for n in range(40):
    deny(cast.organization.pk, actor=SYSTEM, permission="p", object_id=cast.team.pk, reasons=("no",))
denied = AccessDenied(object=cast.team.pk, permission="p", reasons=("no",), count=1)
for n in range(30):
    with recording(cast.organization.pk) as ledger:
        ledger.record(*[denied] * 100)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A data folder; its keys lie beside it and are made by the first command."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "tikitaka.sqlite3"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        return kept | {
            "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
            "PYTHONPATH": str(ROOT),
            "TIKITAKA_DATA": str(self.folder),
            "TIKITAKA_EMBEDDER": "fake",
            **more,
        }

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """A command of manage.py, not waited for."""
        return subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def move(self, target: Database, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("move_database", *words, TIKITAKA_MOVE_TO=target.url)

    def script(self, code: str) -> None:
        subprocess.run(
            [sys.executable, "-c", "import django\ndjango.setup()\n" + textwrap.dedent(code)],
            cwd=ROOT,
            env=self.environment(),
            check=True,
            timeout=120,
            capture_output=True,
        )

    def fetch(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.file)) as database:
            return database.execute(statement).fetchall()

    def change(self, statement: str, values: Sequence[Any] = (), *, timeout: float = 20) -> None:
        """Changes rows behind the product's back."""
        with closing(sqlite3.connect(self.file, timeout=timeout)) as database, database:
            assert database.execute(statement, values).rowcount != 0

    def copy(self, folder: Path) -> Installation:
        shutil.copytree(self.folder, folder, symlinks=True)
        shutil.copytree(f"{self.folder}-keys", f"{folder}-keys")
        return Installation(folder=folder)


def filled(folder: Path) -> Installation:
    """An installation in which something happened."""
    folder.mkdir()
    made = Installation(folder=folder)
    assert made.run("migrate").returncode == 0
    made.script(_FILL)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database of its own on the configured server."""

    name: str

    @property
    def url(self) -> str:
        values = connection.settings_dict
        return (
            f"postgres://{quote(values['USER'], safe='')}:{quote(values['PASSWORD'], safe='')}"
            f"@{values['HOST']}:{values['PORT']}/{self.name}"
        )

    def fetch(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(_connect(self.name)) as database:
            return database.execute(statement).fetchall()

    def change(self, *statements: str) -> None:
        """Changes rows behind the product's back."""
        with closing(_connect(self.name)) as database, database.transaction():
            for statement in statements:
                assert database.execute(statement).rowcount != 0

    def count(self, table: str) -> int:
        """How many rows a table has; 0 while it is not there."""
        if not self.fetch(f"SELECT 1 FROM information_schema.tables WHERE table_name = '{table}'"):
            return 0
        return int(self.fetch(f"SELECT count(*) FROM {table}")[0][0])


@contextmanager
def fresh_database(like: Database | None = None, *, encoding: str = "UTF8") -> Iterator[Database]:
    """Made for the block, empty or as a copy of another, and dropped behind it."""
    name = f"tikitaka_move_{uuid4().hex[:12]}"
    template = like.name if like else "template0"
    _administer(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE {template}")
    try:
        yield Database(name=name)
    finally:
        _administer(f"DROP DATABASE {name} WITH (FORCE)")


def _administer(statement: str) -> None:
    with closing(_connect("postgres")) as database:
        database.execute(statement)


def _connect(name: str) -> psycopg.Connection[Any]:
    values = connection.settings_dict
    return psycopg.connect(
        dbname=name,
        host=values["HOST"],
        port=values["PORT"] or None,
        user=values["USER"],
        password=values["PASSWORD"],
        autocommit=True,
    )
