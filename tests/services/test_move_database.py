"""An embedded installation moves to PostgreSQL: nothing is lost, nothing is changed, and a kill changes neither."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from apps.audit.moving import comparing, ends
from apps.audit.moving.tables import tables
from apps.console.serving import serving
from config.database import from_url, sqlite
from tests.architecture.test_documents import Checkout, blocks, commands, make_checkout, try_command
from tests.support.embedded import ROOT, Database, Installation, filled, fresh_database

DOCUMENT = ROOT / "docs" / "moving.md"
LEFT_OUT = {"django_session", "django_migrations", "sqlite_sequence"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Made once; every test moves a copy."""
    return filled(tmp_path_factory.mktemp("embedded") / "data")


@pytest.fixture
def installation(made: Installation, tmp_path: Path) -> Installation:
    return made.copy(tmp_path / "data")


@pytest.fixture(scope="module")
def migrated(made: Installation) -> Iterator[Database]:
    """Empty tables, as a call leaves them that was killed before the first row; saves each test the migration."""
    with fresh_database() as database:
        assert made.run("migrate", DATABASE_URL=database.url).returncode == 0
        yield database


@pytest.fixture(scope="module")
def moved_once(made: Installation, migrated: Database) -> Iterator[Database]:
    with fresh_database(migrated) as database:
        done = made.move(database)
        assert done.returncode == 0, done.stderr
        yield database


@pytest.fixture
def empty() -> Iterator[Database]:
    with fresh_database() as database:
        yield database


@pytest.fixture
def target(migrated: Database) -> Iterator[Database]:
    with fresh_database(migrated) as database:
        yield database


@pytest.fixture
def moved(moved_once: Database) -> Iterator[Database]:
    """The target of `installation`, which has been moved."""
    with fresh_database(moved_once) as database:
        yield database


def every_table(installation: Installation) -> set[str]:
    rows = installation.fetch("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows} - LEFT_OUT


def assert_alike(installation: Installation, target: Database) -> None:
    """Compared by other means than the command's own."""
    for table in every_table(installation):
        assert target.count(table) == installation.fetch(f"SELECT count(*) FROM {table}")[0][0], table
    entries = "SELECT {id}, seq, header, leaf FROM ledger_entry ORDER BY 1"
    assert target.fetch(entries.format(id="replace(id::text, '-', '')")) == installation.fetch(entries.format(id="id"))
    heads = "SELECT origin, size, tip FROM ledger_log ORDER BY origin"
    assert target.fetch(heads) == installation.fetch(heads)
    sealed = "SELECT id, field, ciphertext FROM ledger_sealedvalue ORDER BY id"
    assert target.fetch(sealed) == installation.fetch(sealed)
    assert target.fetch("SELECT id, text FROM tasks_span ORDER BY id") == installation.fetch(
        "SELECT id, text FROM tasks_span ORDER BY id"
    )


def assert_valid(done) -> None:
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("valid   ") == 2


class TestMoving:
    def test_every_row_and_the_ledgers_bytes(self, installation: Installation, empty: Database) -> None:
        before = installation.file.read_bytes()

        done = installation.move(empty, "--json")

        assert done.returncode == 0, done.stderr
        (line,) = done.stdout.splitlines()
        told = json.loads(line)
        tables_there = every_table(installation)
        assert told["tables"] == len(tables_there)
        assert told["rows"] == sum(installation.fetch(f"SELECT count(*) FROM {name}")[0][0] for name in tables_there)
        assert told["logs"] == 2
        assert told["entries"] == installation.fetch("SELECT count(*) FROM ledger_entry")[0][0] > 3_000
        assert_alike(installation, empty)
        assert installation.file.read_bytes() == before

    def test_the_output_says_what_comes_next(self, installation: Installation, target: Database) -> None:
        done = installation.move(target)

        for words in ("DATABASE_URL", "TIKITAKA_WORKSPACES", "TIKITAKA_SEALING_KEY", "tasks_span: 120", "log in again"):
            assert words in done.stdout
        assert target.url not in done.stdout + done.stderr

    def test_types_and_permissions_keep_their_numbers(self, installation: Installation, target: Database) -> None:
        """What refers to them by number would otherwise mean something else."""
        for table, column in (
            ("auth_permission", "id"),
            ("accounts_organizationgroupobjectpermission", "permission_id"),
        ):
            installation.change(f"UPDATE {table} SET {column} = {column} + 5000")
        installation.change("UPDATE teams_teamgroupobjectpermission SET permission_id = permission_id + 5000")

        assert installation.move(target).returncode == 0

        named = (
            "SELECT p.id, p.codename, t.model FROM auth_permission p"
            " JOIN django_content_type t ON t.id = p.content_type_id ORDER BY 1"
        )
        assert target.fetch(named) == installation.fetch(named)
        assert target.fetch("SELECT min(id) > 5000 FROM auth_permission") == [(True,)]

    def test_the_ledger_still_only_grows(self, installation: Installation, moved: Database) -> None:
        for statement in (
            "UPDATE ledger_entry SET leaf = 'x'",
            "DELETE FROM ledger_entry",
            "TRUNCATE ledger_entry CASCADE",
        ):
            with pytest.raises(psycopg.errors.RestrictViolation, match="only grows"):
                moved.change(statement)

    def test_the_moved_installation_works(self, installation: Installation, moved: Database) -> None:
        there = {"DATABASE_URL": moved.url}
        entries, spans = moved.count("ledger_entry"), moved.count("tasks_span")
        team = installation.fetch("SELECT id FROM teams_team WHERE name = 'Core' ORDER BY created_at")[0][0]

        assert_valid(installation.run("ledger_verify", **there))
        done = installation.run("run_task", "do: think\ndo: say hello", "--team", team, "--user", "operator", **there)

        assert done.returncode == 0, done.stderr
        assert moved.count("ledger_entry") > entries
        assert moved.count("tasks_span") > spans
        assert_valid(installation.run("ledger_verify", **there))
        assert installation.run("reconcile", **there).returncode == 0

    def test_a_second_call_finds_nothing_to_do(self, installation: Installation, moved: Database) -> None:
        done = installation.move(moved)
        assert done.returncode == 0, done.stderr
        assert "tasks_span: 0 rows copied" in done.stdout


class TestKilled:
    @pytest.mark.parametrize(
        ("table", "rows"),
        [("accounts_user", 1), ("ledger_entry", 1_000), ("tasks_span", 4_000), ("tasks_span", 10_000)],
    )
    def test_and_called_again_it_ends_the_same(self, installation: Installation, target: Database, table, rows) -> None:
        self.kill_at(installation, target, table, rows)

        done = installation.move(target)

        assert done.returncode == 0, done.stderr
        assert_alike(installation, target)
        assert_valid(installation.run("ledger_verify", DATABASE_URL=target.url))

    def test_while_the_tables_are_made(self, installation: Installation, empty: Database) -> None:
        self.kill_at(installation, empty, "django_migrations", 8)
        assert empty.count("accounts_user") == 0

        assert installation.move(empty).returncode == 0

        assert_alike(installation, empty)

    def test_many_times(self, installation: Installation, target: Database) -> None:
        """Whatever a kill leaves behind is a beginning to go on from."""
        for rows in range(1_000, 11_000, 3_000):
            self.kill_at(installation, target, "tasks_span", rows)
        assert installation.move(target).returncode == 0
        assert_alike(installation, target)

    def test_a_row_that_changed_meanwhile_is_found(self, installation: Installation, target: Database) -> None:
        """Somebody used the installation between the kill and the second call."""
        self.kill_at(installation, target, "tasks_span", 4_000)
        installation.change("UPDATE tasks_span SET text = 'other' WHERE id = 17")

        done = installation.move(target)

        assert done.returncode == 1
        assert "move_differs: tasks_span" in done.stderr
        assert "first at id 17" in done.stderr

    def test_nobody_else_writes_while_it_runs(self, installation: Installation, target: Database) -> None:
        process = self.until(installation, target, "tasks_span", 1_000)
        try:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                installation.change("UPDATE accounts_user SET first_name = 'x'", timeout=0)
            with serving(installation.folder) as free:
                assert not free
            held = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory'"
            assert target.fetch(f"{held} AND granted AND datname = current_database()") == [(1,)]
        finally:
            process.kill()
            process.communicate()

    def kill_at(self, installation: Installation, target: Database, table: str, rows: int) -> None:
        process = self.until(installation, target, table, rows)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert target.count("tasks_span") < installation.fetch("SELECT count(*) FROM tasks_span")[0][0]

    def until(self, installation: Installation, target: Database, table: str, rows: int):
        """A move that has brought so many rows of a table, and goes on."""
        process = installation.start("move_database", TIKITAKA_MOVE_TO=target.url)
        end = time.monotonic() + 90
        while target.count(table) < rows:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
        return process


class TestFound:
    @pytest.mark.parametrize(
        ("statement", "table"),
        [
            ("UPDATE tasks_span SET data = jsonb_set(data, '{z,2}', '1') WHERE id = 900", "tasks_span"),
            ("UPDATE tasks_span SET at = at + interval '1 microsecond' WHERE id = 900", "tasks_span"),
            ("DELETE FROM providers_vectorcache WHERE id = 300", "ok"),
            ("UPDATE providers_vectorcache SET vector = vector || '\\x00' WHERE id = 300", "providers_vectorcache"),
            ("UPDATE teams_team SET paused_at = now()", "teams_team"),
        ],
    )
    def test_a_row_that_is_not_the_sources(self, installation: Installation, moved: Database, statement, table) -> None:
        """A lost row at the end of a table is copied again; everything else is a difference."""
        moved.change(statement)

        done = installation.move(moved)

        if table == "ok":
            assert done.returncode == 0
        else:
            assert done.returncode == 1
            assert f"move_differs: {table}" in done.stderr

    def test_the_target_is_verified_by_what_lies_in_the_target(self, moved: Database, django_db_blocker) -> None:
        """The process's own database holds nothing of it."""
        with django_db_blocker.unblock(), ends.connected(from_url(moved.url)):
            with ends.standing_in():
                heads = comparing.verified_logs()
            assert sum(head.size for head in heads.values()) == moved.count("ledger_entry")

            moved.change(
                "ALTER TABLE ledger_entry DISABLE TRIGGER USER",
                "UPDATE ledger_entry SET header = replace(header, 'Core', 'Care'), type = 'x' WHERE seq = 3",
                "ALTER TABLE ledger_entry ENABLE TRIGGER USER",
            )
            with pytest.raises(comparing.BrokenLog, match="at the target: entry 3"):
                comparing.require_equal_logs(heads)

    def test_heads_that_differ(self, moved: Database, django_db_blocker) -> None:
        with django_db_blocker.unblock(), ends.connected(from_url(moved.url)):
            with ends.standing_in():
                heads = comparing.verified_logs()
            comparing.require_equal_logs(heads)
            with pytest.raises(comparing.Differs, match="heads differ"):
                comparing.require_equal_logs(dict(list(heads.items())[:1]))

    def test_a_log_that_is_broken_already_is_not_moved(self, installation: Installation, target: Database) -> None:
        installation.change("DROP TRIGGER ledger_entry_no_update")
        installation.change("UPDATE ledger_entry SET actor_id = 'somebody' WHERE seq = 2")

        done = installation.move(target)

        assert done.returncode == 1
        assert "at the source: entry 2, rule column" in done.stderr
        assert target.count("ledger_entry") == 0

    def test_a_row_that_postgresql_does_not_take_is_named(self, installation: Installation, target: Database) -> None:
        installation.change("UPDATE tasks_span SET text = 'a' || char(0) || 'hidden words' WHERE id = 1500")
        done = installation.move(target)
        assert done.returncode == 1
        assert "tasks_span: the row with id 1500 is refused" in done.stderr
        assert "hidden words" not in done.stderr

        installation.change("UPDATE tasks_span SET text = '' WHERE id = 1500")
        installation.change("UPDATE tasks_span SET kind = 'hidden words, too long' WHERE id = 1400")
        done = installation.move(target)
        assert "tasks_span: the row with id 1400 is refused: value too long" in done.stderr
        assert "hidden words" not in done.stderr


class TestRefused:
    def test_while_it_is_served(self, installation: Installation, empty: Database) -> None:
        with serving(installation.folder):
            done = installation.move(empty)
        assert done.returncode == 1
        assert "is being served; stop that process" in done.stderr
        assert empty.count("django_migrations") == 0

    def test_while_attempts_run(self, installation: Installation, target: Database) -> None:
        installation.change(
            "INSERT INTO tasks_agentlease (agent_id, team_id, attempt_id, fence, heartbeat_at, expires_at)"
            " SELECT a.agent_id, t.team_id, a.id, 1, a.started_at, a.started_at FROM tasks_attempt a"
            " JOIN tasks_task t ON t.id = a.task_id LIMIT 1"
        )
        done = installation.move(target)
        assert done.returncode == 1
        assert "1 attempts hold their agents" in done.stderr
        assert "manage.py sweep" in done.stderr

    def test_while_another_command_writes(self, installation: Installation, monkeypatch, django_db_blocker) -> None:
        monkeypatch.setattr(ends, "SOURCE", "held")
        monkeypatch.setitem(connections.settings, "held", sqlite(installation.file))
        connections.settings["held"]["OPTIONS"]["timeout"] = 0
        connections.configure_settings(connections.settings)
        with closing(sqlite3.connect(installation.file)) as other, django_db_blocker.unblock():
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ends.StillWorking, match="keeps writing"), ends.held_still():
                pass
            connections["held"].close()
            del connections["held"]

    def test_behind_the_code(self, installation: Installation, target: Database) -> None:
        installation.change("DELETE FROM django_migrations WHERE app = 'conductor'")
        assert "run manage.py migrate first" in installation.move(target).stderr

    def test_a_reference_to_a_row_that_is_gone(self, installation: Installation, target: Database) -> None:
        installation.change("UPDATE tasks_message SET agent_id = '00' WHERE agent_id IS NOT NULL")
        done = installation.move(target)
        assert "refers to rows that are gone" in done.stderr
        assert "tasks_message" in done.stderr

    def test_a_target_of_another_installation(self, installation: Installation, target: Database) -> None:
        elsewhere = {"DATABASE_URL": target.url}
        assert installation.run("migrate", **elsewhere).returncode == 0
        target.change(
            "INSERT INTO accounts_organization (id, name, created_at)"
            " VALUES ('00000000-0000-7000-8000-000000000000', 'Gamma', now())"
        )
        done = installation.move(target)
        assert done.returncode == 1
        assert "move_foreign_target: accounts_organization" in done.stderr
        assert target.count("accounts_user") == 0

    def test_a_target_that_is_in_use_already(self, installation: Installation, moved: Database) -> None:
        moved.change(
            "INSERT INTO accounts_organization (id, name, created_at)"
            " VALUES ('ffffffff-0000-7000-8000-000000000000', 'Gamma', now())"
        )
        assert "move_foreign_target: accounts_organization" in installation.move(moved).stderr

    def test_a_target_with_tables_of_something_else(self, installation: Installation, empty: Database) -> None:
        empty.change("CREATE TABLE invoices (id int)")
        assert "tables of something else: invoices" in installation.move(empty).stderr
        assert empty.count("django_migrations") == 0

    def test_a_target_whose_triggers_are_gone(self, installation: Installation, target: Database) -> None:
        assert installation.run("migrate", DATABASE_URL=target.url).returncode == 0
        target.change("DROP TRIGGER ledger_entry_no_change ON ledger_entry")
        assert "triggers are missing in the target: ledger_entry_no_change" in installation.move(target).stderr

    def test_a_target_with_other_permissions(self, installation: Installation, moved: Database) -> None:
        """The code changed between two calls: rows that refer to permissions by number would mean others."""
        moved.change("UPDATE auth_permission SET codename = 'x' WHERE id = 1")
        assert "move_foreign_target: the target's permissions" in installation.move(moved).stderr

    def test_a_target_without_unicode(self, installation: Installation) -> None:
        with fresh_database(encoding="SQL_ASCII") as target:
            assert "encoding is SQL_ASCII; it must be UTF8" in installation.move(target).stderr
            assert target.count("django_migrations") == 0

    def test_a_target_that_is_not_there(self, installation: Installation) -> None:
        done = installation.move(Database(name="nowhere_at_all"))
        assert done.returncode == 1
        assert "move_no_target" in done.stderr
        assert "nowhere_at_all" in done.stderr

    def test_a_source_that_is_not_sqlite(self) -> None:
        with pytest.raises(CommandError, match="the configured database is postgresql"):
            call_command("move_database", to="postgres://u:p@localhost/x", stdout=StringIO())

    def test_a_source_that_is_not_there(self, tmp_path: Path, target: Database) -> None:
        nothing = Installation(folder=tmp_path / "nothing")
        assert "there is no installation" in nothing.move(target).stderr
        assert not nothing.folder.exists()

    @pytest.mark.parametrize(
        "url",
        [
            "sqlite:///x-sesame",
            "postgres://u:x/sesame@h/db",
            "postgres://u:sesame[@h/db",
            "mysql://u:sesame@h/db",
            "sesame",
        ],
    )
    def test_a_target_that_is_none_and_its_password_is_not_repeated(self, installation: Installation, url: str) -> None:
        done = installation.run("move_database", "--to", url)
        assert done.returncode == 1
        assert "The target must be postgres://" in done.stderr
        assert "sesame" not in done.stdout + done.stderr

    def test_no_target_or_two(self, installation: Installation, tmp_path: Path) -> None:
        assert "Say where to" in installation.run("move_database").stderr
        assert "cannot be read" in installation.run("move_database", "--to-file", str(tmp_path / "absent")).stderr
        assert "not allowed with" in installation.run("move_database", "--to", "x", "--to-file", "y").stderr


class TestOrder:
    def test_parents_come_first_and_only_sessions_stay(self, made: Installation) -> None:
        found = tables()
        names = [table.name for table in found]
        assert set(names) == every_table(made)
        for table in found:
            for field in table.fields:
                parent = field.related_model
                if parent is not None and parent is not table.model:
                    assert names.index(parent._meta.db_table) < names.index(table.name)

    def test_tables_that_refer_to_themselves_are_known(self) -> None:
        assert {table.name for table in tables() if table.refers_to_itself} >= {"tasks_plannode", "memory_note"}


def test_every_command_of_the_document_works(installation: Installation, target: Database, tmp_path: Path) -> None:
    """In the place of the example's target stands the database of this test."""
    checkout: Checkout = make_checkout(tmp_path / "checkout", None)
    installation.copy(checkout.folder / "var" / "works")
    found = blocks(DOCUMENT.read_text(encoding="utf-8"))
    for block in found:
        if block.file:
            assert block.text.startswith("postgres://")
            (checkout.folder / block.file).write_text(target.url, encoding="utf-8")
    tried = [command for block in found for command in commands(block)]
    for command in tried:
        try_command(command, checkout)
        if "move_database" in command:
            assert_alike(installation, target)  # at once: what is called afterwards works there and writes
    assert any("move_database" in command for command in tried)
