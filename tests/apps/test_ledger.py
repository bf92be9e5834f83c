"""Recording: one transaction, entries last, nothing without them; sealed values; verification by command."""

from __future__ import annotations

import contextlib
import json
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Organization
from apps.ledger import triggers
from apps.ledger.models import Denial, Entry, Log, SealedValue, SubjectKey
from apps.ledger.sealing import open_value
from apps.ledger.selectors import logs, verify_log
from apps.ledger.services import deny, recording
from apps.ledger.sql import execute
from apps.ledger.writing import writing
from tikitaka.ledger.chain import Broken
from tikitaka.ledger.entries import Actor
from tikitaka.ledger.events import NoteRevoked, TeamCreated

pytestmark = pytest.mark.django_db(transaction=True)
PERSON = Actor(kind="user", id=str(uuid.uuid4()))


def revoked(words: str = "because") -> NoteRevoked:
    return NoteRevoked(note=uuid.uuid4(), team=uuid.uuid4(), reason="revoked_by_person", words=words)


def statements(queries: CaptureQueriesContext) -> list[str]:
    """What the database saw, one by one: on PostgreSQL some travel as one message."""
    return [statement for query in queries.captured_queries for statement in query["sql"].split(";\n")]


class TestRecording:
    def test_an_error_leaves_neither_row_nor_entry(self) -> None:
        identity = uuid.uuid4()

        def write() -> None:
            with recording(identity) as ledger:
                Organization.objects.create(id=identity, name="x")
                ledger.record(TeamCreated(team=uuid.uuid4()))
                raise RuntimeError

        with pytest.raises(RuntimeError):
            write()
        assert not Organization.objects.exists()
        assert not Entry.objects.exists()

    def test_nested_uses_join_the_outermost(self) -> None:
        organization = uuid.uuid4()

        def write() -> None:
            with recording(organization) as outer:
                outer.record(TeamCreated(team=uuid.uuid4()))
                with recording(organization) as inner:
                    inner.record(TeamCreated(team=uuid.uuid4()))
                raise RuntimeError

        with pytest.raises(RuntimeError):
            write()
        assert not Entry.objects.exists()

    def test_a_transaction_belongs_to_one_organization(self) -> None:
        with recording(uuid.uuid4()), pytest.raises(RuntimeError), recording(uuid.uuid4()):
            pass

    def test_entries_are_the_last_statements_before_the_commit(self) -> None:
        organization = uuid.uuid4()
        with recording(organization) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
        with CaptureQueriesContext(connection) as queries, recording(organization) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
            Organization.objects.create(name="later than record()")
        found = statements(queries)
        insert, update, *commits = found[-4:] if connection.vendor == "postgresql" else found[-3:]
        assert "INSERT INTO ledger_entry" in insert
        assert update.startswith("UPDATE ledger_log")
        assert set(commits) == {"COMMIT"}, "on PostgreSQL the first travels with the entries, Django's finds nothing"

    def test_a_batch_costs_three_statements(self) -> None:
        organization = uuid.uuid4()
        with recording(organization) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
        with CaptureQueriesContext(connection) as queries, recording(organization) as ledger:
            ledger.record(*(TeamCreated(team=uuid.uuid4()) for _ in range(50)))
        assert len([statement for statement in statements(queries) if "ledger" in statement]) == 3

    def test_a_broken_transaction_takes_no_entry_and_says_so(self) -> None:
        def write() -> None:
            with recording(uuid.uuid4()) as ledger:
                ledger.record(TeamCreated(team=uuid.uuid4()))
                with contextlib.suppress(ValueError), transaction.atomic(savepoint=False):
                    raise ValueError

        with pytest.raises(TransactionManagementError):
            write()
        assert not Entry.objects.exists()

    def test_what_the_database_refuses_is_an_error_of_djangos(self) -> None:
        organization = uuid.uuid4()
        with recording(organization) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
        with pytest.raises(IntegrityError, match="DELETE refused"), writing():
            execute("DELETE FROM ledger_entry WHERE seq = %s", [1])
        with recording(organization) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
        assert Entry.objects.count() == 3

    def test_something_that_is_no_known_type_is_refused(self) -> None:
        class MadeUp(TeamCreated):
            type = "made.up"

        from tikitaka.ledger.events import REGISTRY

        REGISTRY.pop("made.up")
        with pytest.raises(ValueError, match="unknown type"), recording(uuid.uuid4()) as ledger:
            ledger.record(MadeUp(team=uuid.uuid4()))


class TestWriting:
    def state(self) -> tuple[object, ...]:
        return (
            connection.in_atomic_block,
            connection.get_autocommit(),
            connection.atomic_blocks,
            connection.needs_rollback,
        )

    def test_a_commit_that_the_database_refuses_leaves_nothing_behind(self) -> None:
        def write() -> None:
            with writing():
                Organization.objects.create(name="x")
                SealedValue.objects.create(entry_id=uuid.uuid4(), field="words", ciphertext=b"", key_id=uuid.uuid4())

        with pytest.raises(IntegrityError):
            write()
        assert not Organization.objects.exists()
        assert self.state() == (False, True, [], False)

    @pytest.mark.parametrize("watched", [False, True])
    def test_the_connection_is_afterwards_as_it_was(self, watched: bool) -> None:
        with CaptureQueriesContext(connection) if watched else contextlib.nullcontext():
            with writing():
                assert self.state()[:2] == (True, False)
                Organization.objects.create(name="x")
                with writing():
                    Organization.objects.create(name="y")
            assert self.state() == (False, True, [], False)
        assert Organization.objects.count() == 2

    def test_what_waits_for_the_commit_runs_after_it_and_only_then(self) -> None:
        ran: list[bool] = []
        with writing():
            transaction.on_commit(lambda: ran.append(connection.in_atomic_block))
            assert ran == []
        assert ran == [False]
        with writing():
            transaction.on_commit(lambda: ran.append(True))
            transaction.set_rollback(True)
        with writing():
            pass
        assert ran == [False]

    def test_a_block_inside_that_fails_is_taken_back_alone(self) -> None:
        with writing():
            Organization.objects.create(name="x")
            with contextlib.suppress(RuntimeError), writing():
                Organization.objects.create(name="y")
                raise RuntimeError
        assert [found.name for found in Organization.objects.all()] == ["x"]

    def test_a_transaction_marked_broken_is_rolled_back(self) -> None:
        with writing():
            Organization.objects.create(name="x")
            transaction.set_rollback(True)
        assert not Organization.objects.exists()


class TestSealing:
    def test_personal_words_are_outside_the_chain_and_open_with_the_key(self) -> None:
        with recording(uuid.uuid4(), actor=PERSON) as ledger:
            ledger.record(revoked("Ben asked for it"))
        sealed = SealedValue.objects.get()
        assert "Ben" not in Entry.objects.get(type="memory.note.revoked").header
        assert b"Ben" not in bytes(sealed.ciphertext)
        assert open_value(sealed).value == "Ben asked for it"

    def test_destroying_the_key_erases_the_words_and_keeps_the_chain(self) -> None:
        with recording(uuid.uuid4(), actor=PERSON) as ledger:
            ledger.record(revoked())
        SubjectKey.objects.update(wrapped=None)
        result = verify_log(logs().get())
        assert result.valid
        assert result.erased == 1

    def test_a_changed_ciphertext_is_found(self) -> None:
        with recording(uuid.uuid4(), actor=PERSON) as ledger:
            ledger.record(revoked())
        sealed = SealedValue.objects.get()
        SealedValue.objects.update(ciphertext=bytes(sealed.ciphertext)[:-1] + b"x")
        result = verify_log(logs().get()).result
        assert isinstance(result, Broken)
        assert result.rule == "seal"

    def test_a_value_that_is_gone_with_its_key_still_there_is_found(self) -> None:
        with recording(uuid.uuid4(), actor=PERSON) as ledger:
            ledger.record(revoked())
        assert verify_log(logs().get()).valid
        SealedValue.objects.all().delete()
        result = verify_log(logs().get()).result
        assert isinstance(result, Broken)
        assert (result.rule, "words" in result.detail) == ("seal", True)

    def test_the_same_words_twice_have_two_commitments(self) -> None:
        with recording(uuid.uuid4(), actor=PERSON) as ledger:
            ledger.record(revoked(), revoked())
        found = [json.loads(e.header)["sealed"]["words"] for e in Entry.objects.filter(type="memory.note.revoked")]
        assert len(set(found)) == 2


class TestTriggers:
    def test_all_are_installed_and_put_back_after_a_migration(self) -> None:
        assert triggers.installed(connection) == set(triggers.expected(connection))
        triggers.uninstall(connection)
        assert [message.id for message in triggers.check_installed(["default"])] == ["ledger.E001"]
        call_command("migrate", verbosity=0)
        assert triggers.check_installed(["default"]) == []

    def test_an_entry_out_of_turn_is_refused(self) -> None:
        with recording(uuid.uuid4()) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))
        entry = Entry.objects.get(seq=1)
        entry.pk, entry.seq = uuid.uuid4(), 7
        with pytest.raises(Exception, match="not the next entry"):
            entry.save(force_insert=True)

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite finds the greatest of an index by itself")
    def test_the_next_entry_of_a_long_log_is_found_by_its_key(self) -> None:
        """In a table that nobody has analyzed yet, as every new installation's is."""
        organization = uuid.uuid4()
        with recording(organization) as ledger:
            ledger.record(*(TeamCreated(team=uuid.uuid4()) for _ in range(2_000)))
        entry = Entry.objects.latest("seq")
        columns = [field.column for field in Entry._meta.fields]
        values = [getattr(entry, field.attname) for field in Entry._meta.fields]
        values[columns.index("id")], values[columns.index("seq")] = uuid.uuid4(), entry.seq + 1
        insert = f"INSERT INTO ledger_entry ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {insert}", values)
            ((plan,),) = cursor.fetchall()
        assert plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"] < 60


def test_roles_are_for_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "vendor", "sqlite")
    with pytest.raises(CommandError, match="has no roles; this is for PostgreSQL"):
        call_command("grant_application", "app")


class TestVerify:
    def write(self) -> Log:
        organization = uuid.uuid4()
        for _ in range(3):
            with recording(organization) as ledger:
                ledger.record(TeamCreated(team=uuid.uuid4()))
        return logs(organization).get()

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE ledger_entry SET header = replace(header, 'team.created', 'team.archived') WHERE seq = 2",
            "UPDATE ledger_entry SET leaf = 'x' WHERE seq = 2",
            "UPDATE ledger_entry SET type = 'team.archived' WHERE seq = 2",
            "UPDATE ledger_entry SET subject_id = 'x' WHERE seq = 2",
            "UPDATE ledger_entry SET team_id = '' WHERE seq = 2",
            "UPDATE ledger_entry SET team_id = 'x' WHERE seq = 2",
            "DELETE FROM ledger_entry WHERE seq = 3",
            "DELETE FROM ledger_entry WHERE seq = 1",
            "DELETE FROM ledger_entry",
            "UPDATE ledger_log SET size = 2",
        ],
    )
    def test_whoever_gets_past_the_triggers_is_found(self, statement: str) -> None:
        log = self.write()
        assert verify_log(log).valid
        triggers.uninstall(connection)
        with connection.cursor() as cursor:
            cursor.execute(statement)
        triggers.install(connection)
        log.refresh_from_db()
        assert not verify_log(log).valid

    def test_the_command_says_so_by_its_exit_code(self) -> None:
        self.write()
        out = StringIO()
        call_command("ledger_verify", stdout=out)
        assert out.getvalue().startswith("valid")
        triggers.uninstall(connection)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ledger_entry SET type = 'x' WHERE seq = 2")
        triggers.install(connection)
        with pytest.raises(CommandError) as error:
            call_command("ledger_verify", "--json", stdout=out)
        assert error.value.returncode == 1
        assert json.loads(out.getvalue().splitlines()[-1])["rule"] == "column"

    def test_nothing_to_verify_is_not_valid(self) -> None:
        with pytest.raises(CommandError) as error:
            call_command("ledger_verify")
        assert error.value.returncode == 2


def test_denials_are_counted_and_the_count_enters_with_the_next_minute() -> None:
    organization, subject = uuid.uuid4(), uuid.uuid4()
    for _ in range(3):
        deny(organization, actor=PERSON, permission="run_task", object_id=subject, reasons=["no_grant"])
    Denial.objects.update(minute="2020-01-01T00:00:00Z")
    deny(organization, actor=PERSON, permission="run_task", object_id=subject, reasons=["no_grant"])
    counts = [
        json.loads(e.header)["facts"]["count"] for e in Entry.objects.filter(type="access.denied").order_by("seq")
    ]
    assert counts == [1, 3]
