"""Statements that travel together: seen one after the other, answered behind the block, wrong as a whole."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Organization
from apps.ledger.queries import Query, ask
from apps.ledger.selectors import entries
from apps.ledger.services import recording
from apps.ledger.sql import Statements, execute, execute_many, fetch, together
from tests.support.cast import Cast
from tikitaka.ledger.events import OrganizationPaused

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "UPDATE accounts_organization SET name = %s WHERE id = %s"


def named(cast: Cast) -> Query[str]:
    return Query("SELECT name FROM accounts_organization WHERE id = %s", [cast.organization.pk], lambda r: r[0][0])


def number(value: int) -> Query[int]:
    return Query("SELECT CAST(%s AS integer)", [value], lambda rows: rows[0][0])


def test_several_questions_are_answered_in_their_order(committed_cast: Cast) -> None:
    assert ask(number(1), named(committed_cast), number(3)) == (1, "Alpha", 3)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is asked one by one: it is no way away")
def test_they_are_one_message(committed_cast: Cast) -> None:
    with CaptureQueriesContext(connection) as found:
        ask(number(1), named(committed_cast), number(3))
    assert len(found) == 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's driver keeps its statements itself")
@pytest.mark.parametrize("question", [lambda: ask(number(1), number(2)), lambda: number(1).ask()])
def test_what_is_often_asked_is_planned_once(question: Callable[[], object]) -> None:
    connection.close()
    for _ in range(5):
        question()
    assert fetch("SELECT statement FROM pg_prepared_statements") == [("SELECT CAST($1 AS integer)",)]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's driver keeps its statements itself")
@pytest.mark.parametrize("sent_before", range(6))
def test_a_plan_that_was_never_made_is_not_believed_in(sent_before: int) -> None:
    """What stands behind an error is not even read by the server, whatever the driver has noted of it."""
    connection.close()
    divided = Query("SELECT 1 / CAST(%s AS integer)", [0], list)
    for _ in range(sent_before):
        ask(Query("SELECT 1 / CAST(%s AS integer)", [1], list), number(2))
    for _ in range(3):
        with pytest.raises(DatabaseError):
            ask(divided, number(2))
        assert ask(number(1), number(2)) == (1, 2)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's driver keeps its statements itself")
def test_texts_of_others_are_not_kept_by_the_driver(committed_cast: Cast) -> None:
    number(1).ask()
    assert connection.connection.prepare_threshold is None
    with pytest.raises(DatabaseError), transaction.atomic():
        Query("SELECT nonsense", [], list).ask()
    assert connection.connection.prepare_threshold is None


def test_a_question_sees_what_was_written_before_it(committed_cast: Cast) -> None:
    with transaction.atomic():
        with together():
            execute(NAME, ["Gamma", committed_cast.organization.pk])
            sent = named(committed_cast).send()
            execute(NAME, ["Delta", committed_cast.organization.pk])
        assert sent.answer() == "Gamma"
    assert named(committed_cast).ask() == "Delta"


def test_a_block_inside_another_joins_it(committed_cast: Cast) -> None:
    with together():
        with together():
            execute(NAME, ["Gamma", committed_cast.organization.pk])
        sent = named(committed_cast).send()
    assert sent.answer() == "Gamma"


def test_what_is_wrong_with_one_of_them_undoes_all(committed_cast: Cast) -> None:
    def write() -> None:
        with transaction.atomic(), together():
            execute(NAME, ["Gamma", committed_cast.organization.pk])
            execute("INSERT INTO accounts_organization (id, name, created_at) VALUES (%s, NULL, NULL)", [uuid4()])

    with pytest.raises(IntegrityError):
        write()
    assert named(committed_cast).ask() == "Alpha"


def test_a_block_that_is_left_with_an_error_sends_nothing(committed_cast: Cast) -> None:
    def leave() -> None:
        with transaction.atomic(), together():
            execute(NAME, ["Gamma", committed_cast.organization.pk])
            raise ValueError("left")

    with pytest.raises(ValueError, match="left"):
        leave()
    assert named(committed_cast).ask() == "Alpha"
    assert ask(number(1), number(2)) == (1, 2)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite answers at once")
def test_an_answer_is_not_there_before_the_end_of_the_block() -> None:
    with pytest.raises(RuntimeError, match="behind the block"), together():
        number(1).send().answer()


@pytest.mark.parametrize("statement", ["SELECT nonsense FROM nowhere", "no statement at all"])
def test_a_statement_that_is_none_is_a_database_error(statement: str) -> None:
    with pytest.raises(DatabaseError):
        ask(number(1), Query(statement, [], list))
    assert ask(number(1), number(2)) == (1, 2)


@pytest.mark.parametrize("text", ["'; DROP TABLE tasks_task; --", "100 %s %", "a\\'b", "$1 $$ ;"])
def test_values_stay_values(committed_cast: Cast, text: str) -> None:
    with transaction.atomic(), together():
        execute(NAME, [text, committed_cast.organization.pk])
        execute(NAME, [text, uuid4()])
    assert ask(named(committed_cast), number(2)) == (text, 2)


class TestLateStatements:
    """What nobody reads before the end of a transaction."""

    def test_they_are_there_with_the_entries(self, committed_cast: Cast) -> None:
        pk = committed_cast.organization.pk
        with recording(pk) as ledger:
            ledger.write_late(NAME, [["Gamma", pk]])
            ledger.record(OrganizationPaused(organization=pk))
            assert named(committed_cast).ask() == "Alpha"
        assert named(committed_cast).ask() == "Gamma"

    def test_and_without_any(self, committed_cast: Cast) -> None:
        pk = committed_cast.organization.pk
        with recording(pk) as ledger, recording(pk) as inner:
            inner.write_late(NAME, [["Gamma", pk]])
            ledger.write_late(NAME, [])
        assert named(committed_cast).ask() == "Gamma"

    def test_an_error_in_the_block_leaves_nothing_of_them(self, committed_cast: Cast) -> None:
        pk = committed_cast.organization.pk

        def leave() -> None:
            with recording(pk) as ledger:
                ledger.write_late(NAME, [["Gamma", pk]])
                raise ValueError("left")

        with pytest.raises(ValueError, match="left"):
            leave()
        assert named(committed_cast).ask() == "Alpha"

    def test_one_that_fails_takes_the_entries_with_it(self, committed_cast: Cast) -> None:
        pk = committed_cast.organization.pk

        def write() -> None:
            with recording(pk) as ledger:
                ledger.write_late(NAME, [[None, pk]])
                ledger.record(OrganizationPaused(organization=pk))

        with pytest.raises(IntegrityError):
            write()
        with Statements() as database:
            rows = database.fetch("SELECT COUNT(*) FROM ledger_entry WHERE type = %s", ["org.paused"])
        assert rows == [(0,)]


def test_many_rows_in_a_block(committed_cast: Cast) -> None:
    organizations = [Organization.objects.create(name=str(place)) for place in range(3)]
    with transaction.atomic(), together():
        execute_many(NAME, [[f"new {row.name}", row.pk] for row in organizations])
    names = Organization.objects.filter(pk__in=[row.pk for row in organizations]).values_list("name", flat=True)
    assert sorted(names) == ["new 0", "new 1", "new 2"]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite commits with a statement of its own")
def test_the_commit_travels_with_the_entries(committed_cast: Cast) -> None:
    organization = committed_cast.organization.pk
    with CaptureQueriesContext(connection) as found, recording(organization) as ledger:
        ledger.record(OrganizationPaused(organization=organization))
    assert found[-2]["sql"].rstrip().endswith("COMMIT"), "and what Django commits behind it has nothing to do"
    assert not connection.in_atomic_block


def test_an_outer_block_undoes_what_a_recording_inside_it_wrote(committed_cast: Cast) -> None:
    organization = committed_cast.organization.pk
    before = entries(organization).count()

    def write() -> None:
        with transaction.atomic():
            with recording(organization) as ledger:
                execute(NAME, ["Gamma", organization])
                ledger.record(OrganizationPaused(organization=organization))
            raise ValueError("left")

    with pytest.raises(ValueError, match="left"):
        write()
    assert named(committed_cast).ask() == "Alpha"
    assert entries(organization).count() == before
