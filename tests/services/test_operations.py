"""docs/operations.md is true: its commands run, and what it says of things that are away happens."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.db import connection

from apps.conductor.story import submit
from apps.ledger.selectors import logs
from apps.memory.models import Note
from apps.tasks.models import Task
from tests.architecture.test_documents import blocks, commands, make_checkout, try_command
from tests.support import processes
from tests.support.cast import Cast
from tests.support.notes import landed
from tests.support.plans import node
from tests.support.workers import fleet, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENT = processes.ROOT / "docs" / "operations.md"


def test_back_up_and_restore(committed_cast: Cast, tmp_path: Path) -> None:
    """The commands as they stand, on a database and a server of the test's own name."""
    landed(committed_cast)
    values = connection.settings_dict
    restored = f"restored_{secrets.token_hex(6)}"
    names = {"tikitaka_restored": restored, "tikitaka": values["NAME"]}
    checkout = make_checkout(tmp_path / "checkout", None)
    checkout.environment |= processes.environment() | {"PATH": os.environ["PATH"]}
    server = {"PGHOST": values["HOST"], "PGPORT": str(values["PORT"] or 5432), "PGUSER": values["USER"]}
    with psycopg.connect(checkout.environment["DATABASE_URL"], autocommit=True) as administrator:
        administrator.execute(f'CREATE DATABASE "{restored}"')
        try:
            for block in blocks(DOCUMENT.read_text(encoding="utf-8")):
                for command in commands(block):
                    if command.startswith("export "):
                        checkout.environment |= server
                        continue
                    words = [named(word, names) for word in command.split(" ")]
                    try_command(" ".join(words), checkout)
                    if words[0] == "pg_restore":
                        found = urlsplit(checkout.environment["DATABASE_URL"])
                        checkout.environment["DATABASE_URL"] = urlunsplit(found._replace(path=f"/{restored}"))
            with psycopg.connect(checkout.environment["DATABASE_URL"]) as copy:
                assert copy.execute("SELECT count(*) FROM ledger_log").fetchone() == (len(logs()),)
                assert copy.execute("SELECT status FROM memory_note").fetchall() == [("active",)]
        finally:
            administrator.execute(f'DROP DATABASE "{restored}" WITH (FORCE)')
    assert Note.objects.get().status == "active"


def named(word: str, names: dict[str, str]) -> str:
    """A word of a command with the test's own database in place of the document's."""
    for name, own in names.items():
        if word == name or word.endswith(f"={name}"):
            return word.removesuffix(name) + own
    return word


def test_without_a_broker_work_waits_and_is_found_when_it_is_back(
    committed_cast: Cast, settings: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings.TIKITAKA_BROKER_URL = "redis://127.0.0.1:1/0"
    task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
    assert Task.objects.get(pk=task.pk).status == "running"

    with fleet(tmp_path) as workers:
        workers.start("control,nodes,embed,flush", size=4)

        def swept() -> bool:
            workers.sweep()
            return Task.objects.filter(pk=task.pk, status="completed").exists()

        wait_until(swept, 90)
