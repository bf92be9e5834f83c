"""The application's role works with everything, and against the ledger it has no means."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.conductor.story import submit
from apps.ledger.models import Entry, Log, SealedValue
from apps.ledger.selectors import logs, verify_log
from apps.ledger.services import deny, recording
from apps.tasks.models import Task
from tests.support.cast import assemble
from tests.support.plans import node
from tikitaka.ledger.entries import Actor
from tikitaka.ledger.events import NoteRevoked, TeamCreated

pytestmark = pytest.mark.django_db(transaction=True)
PERSON = Actor(kind="user", id=str(uuid.uuid4()))


def run(statement: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def grant(role: str) -> str:
    out = StringIO()
    call_command("grant_application", role, stdout=out)
    return out.getvalue()


@pytest.fixture
def role(transactional_db: None) -> Iterator[str]:
    """A role that may log in and nothing else."""
    name = f"tikitaka-app-{uuid.uuid4().hex[:12]}"
    run(f'CREATE ROLE "{name}" LOGIN')
    try:
        yield name
    finally:
        run("RESET ROLE")
        run(f'DROP OWNED BY "{name}"')
        run(f'DROP ROLE "{name}"')


@pytest.fixture
def granted(role: str) -> str:
    grant(role)
    return role


@contextmanager
def acting_as(role: str) -> Iterator[None]:
    """The product's own connection under that role."""
    run(f'SET ROLE "{role}"')
    try:
        yield
    finally:
        run("RESET ROLE")


@contextmanager
def logged_in(role: str) -> Iterator[psycopg.Connection]:
    """A connection that the role opened itself, so there is no other to go back to."""
    found = connection.settings_dict
    with psycopg.connect(
        host=found["HOST"], port=found["PORT"], user=role, dbname=found["NAME"], autocommit=True
    ) as own:
        yield own


def rights(role: str) -> set[tuple]:
    """Everything that was granted to it by name."""
    whole = f"SELECT table_name, '', privilege_type FROM information_schema.role_table_grants WHERE grantee = '{role}'"
    heads = (
        "SELECT table_name, column_name, privilege_type FROM information_schema.role_column_grants"
        f" WHERE grantee = '{role}' AND table_name = 'ledger_log'"
    )
    return set(run(f"{whole} UNION {heads}"))


class TestWhatTheRoleMay:
    def test_it_appends_to_the_ledger_by_the_products_own_service(self, granted: str) -> None:
        organization = uuid.uuid4()
        with acting_as(granted):
            for words in ("first", "second"):
                with recording(organization, actor=PERSON) as ledger:
                    ledger.record(NoteRevoked(note=uuid.uuid4(), team=uuid.uuid4(), reason="x", words=words))
            deny(organization, actor=PERSON, permission="run_task", object_id=uuid.uuid4(), reasons=["no_grant"])
            assert run("SELECT current_user") == [(granted,)]
        log = logs(organization).get()
        assert (log.size, verify_log(log).valid) == (4, True)
        assert SealedValue.objects.count() == 2

    def test_it_founds_organizations_and_submits_tasks(self, granted: str) -> None:
        with acting_as(granted):
            cast = assemble()
            submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)])
        assert Task.objects.get().nodes.count() == 1

    def test_it_works_with_the_rows_of_every_other_table(self, granted: str) -> None:
        tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
        for table in tables - {"ledger_entry", "ledger_log"}:
            for right in ("SELECT", "INSERT", "UPDATE", "DELETE"):
                assert run(f"SELECT has_table_privilege('{granted}', '{table}', '{right}')") == [(True,)], table
        assert len(tables) > 40


class TestWhatTheRoleMayNot:
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE ledger_entry SET type = 'x'",
            "UPDATE ledger_entry SET recorded_at = now()",
            "INSERT INTO ledger_entry SELECT * FROM ledger_entry ON CONFLICT (id) DO UPDATE SET type = 'x'",
            "DELETE FROM ledger_entry",
            "TRUNCATE ledger_entry CASCADE",
            "ALTER TABLE ledger_entry DISABLE TRIGGER USER",
            "ALTER TABLE ledger_entry DISABLE TRIGGER ALL",
            "DROP TRIGGER ledger_entry_no_change ON ledger_entry",
            "CREATE TRIGGER mine BEFORE INSERT ON ledger_entry FOR EACH ROW EXECUTE FUNCTION ledger_refuse()",
            "CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "SET session_replication_role = replica",
            "DROP TABLE ledger_entry CASCADE",
            "UPDATE ledger_log SET origin = 'x'",
            "UPDATE ledger_log SET organization_id = id",
            "UPDATE ledger_log SET closed_at = now()",
            "DELETE FROM ledger_log",
            "TRUNCATE ledger_log CASCADE",
            "ALTER TABLE ledger_log DISABLE TRIGGER USER",
            "DROP TABLE ledger_log CASCADE",
            "TRUNCATE tasks_span CASCADE",
            "ALTER TABLE tasks_span ADD COLUMN x int",
            "DELETE FROM django_migrations",
            "DROP SCHEMA public CASCADE",
            "CREATE TABLE mine (x int)",
        ],
    )
    def test_tampering_is_refused(self, granted: str, statement: str) -> None:
        with recording(uuid.uuid4()) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
        with logged_in(granted) as own, pytest.raises(psycopg.errors.InsufficientPrivilege):
            own.execute(statement)
        assert verify_log(Log.objects.get()).valid
        assert Entry.objects.count() == 2

    @pytest.mark.parametrize("change", ["size = 0", "tip = 'x'"])
    def test_the_head_moves_forward_only(self, granted: str, change: str) -> None:
        with recording(uuid.uuid4()) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
        with logged_in(granted) as own, pytest.raises(psycopg.errors.RestrictViolation, match="head moved back"):
            own.execute(f"UPDATE ledger_log SET {change}")


class TestGranting:
    def test_twice_is_once(self, granted: str) -> None:
        before = rights(granted)
        assert grant(granted).startswith(granted)
        assert rights(granted) == before
        assert {found for found in before if found[0] == "ledger_entry"} == {
            ("ledger_entry", "", "INSERT"),
            ("ledger_entry", "", "SELECT"),
        }

    def test_what_is_more_is_taken(self, granted: str) -> None:
        before = rights(granted)
        run(f'GRANT ALL ON ledger_entry, ledger_log, tasks_span, django_migrations TO "{granted}"')
        run(f'GRANT UPDATE (origin) ON ledger_log TO "{granted}"')
        assert rights(granted) != before
        grant(granted)
        assert rights(granted) == before

    @pytest.mark.parametrize(
        ("prepare", "reason"),
        [
            ('ALTER ROLE "{role}" SUPERUSER', "is a superuser"),
            ('ALTER ROLE "{role}" CREATEROLE', "may make roles"),
            ('GRANT {owner} TO "{role}"', "owns the database"),
            ('ALTER TABLE ledger_entry OWNER TO "{role}"', "owns the table ledger_entry"),
            ('ALTER SCHEMA public OWNER TO "{role}"', "owns the schema public"),
            ('GRANT pg_write_all_data TO "{role}"', "may UPDATE ledger_entry all the same"),
            ("GRANT TRUNCATE ON tasks_span TO PUBLIC", "may TRUNCATE tasks_span all the same"),
            ("GRANT UPDATE (type) ON ledger_entry TO PUBLIC", "may UPDATE a column of ledger_entry"),
        ],
    )
    def test_a_role_that_no_grant_binds_is_refused(self, role: str, prepare: str, reason: str) -> None:
        ((owner, schema_owner),) = run(
            "SELECT current_user, nspowner::regrole::text FROM pg_namespace WHERE nspname = 'public'"
        )
        run(prepare.format(role=role, owner=owner))
        try:
            with pytest.raises(CommandError, match=f"Nothing was granted: .*{reason}"):
                grant(role)
            assert not {found for found in rights(role) if found[0] == "tasks_message"}
        finally:
            run(f"ALTER TABLE ledger_entry OWNER TO {owner}")
            run(f"ALTER SCHEMA public OWNER TO {schema_owner}")
            run("REVOKE ALL ON ledger_entry, tasks_span FROM PUBLIC")

    def test_a_role_that_is_not_there_is_refused(self, transactional_db: None) -> None:
        with pytest.raises(CommandError, match="there is no role 'nobody-of-that-name'"):
            grant("nobody-of-that-name")

    def test_only_the_owner_can_grant(self, granted: str) -> None:
        with acting_as(granted), pytest.raises(CommandError, match="run this as the role that migrates"):
            grant("pg_monitor")  # every server has it
