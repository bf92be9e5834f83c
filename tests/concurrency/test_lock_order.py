"""Rows are locked in one order everywhere, and who waits for a row sees what the other one left."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta

import pytest
from django.db import connection, transaction

from apps.conductor.import_rows import UNKNOWN_PROMPT
from apps.conductor.importing import import_sessions
from apps.conductor.story import submit
from apps.conductor.teams import archive_team, retire_agent
from apps.ledger import clock
from apps.ledger.queries import Query
from apps.ledger.sql import fetch, for_update, together
from apps.memory.models import Landing, Note, Recipient
from apps.memory.selectors import LIVE_LANDINGS
from apps.memory.services.landing import land as landing
from apps.tasks.models import AgentLease, Task
from apps.tasks.services.attempts import renew
from apps.tasks.services.claim import claim_ready
from apps.tasks.services.log import lock_scheduler
from apps.tasks.services.submit import submit_task
from apps.teams.models import Team
from tests.flows.test_importing import recorded
from tests.support.cast import Cast
from tests.support.lock_order import Transaction, Watch
from tests.support.notes import approved, verdicts
from tests.support.plans import node
from tests.support.threads import closing_connections, waits_for_a_lock
from tests.support.workers import wait_until
from tikitaka.policy import DEFAULT

database = pytest.mark.django_db(transaction=True)
only_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer and no row locks")


def meet(work: Callable[[], object], *, first: Callable[[], object], then: Callable[[], object]) -> None:
    """`first` locks, `work` comes to wait for it in another thread, and then `then` locks something else."""
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            first()
            working = threads.submit(closing_connections, work)
            wait_until(lambda: waits_for_a_lock() or working.done(), 30)
            assert not working.done()
            then()
        working.result(60)


@database
@only_postgresql
class TestNobodyWaitsInACircle:
    def test_a_recording_fills_a_task_that_is_given_its_segment(self, committed_cast: Cast) -> None:
        cast = committed_cast

        def bring_in(name: str) -> None:
            agent, session = cast.agents["backend"], recorded(name)
            import_sessions(actor=cast.operator, team=cast.team, agent=agent, sessions=[session])

        bring_in("codex-0.111.0-backend.exec")
        meet(
            lambda: bring_in("codex-0.111.0-backend.rollout"),
            first=lambda: lock_scheduler(cast.team.pk),
            then=lambda: Task.objects.update(segment_id=None),
        )

        assert Task.objects.get().prompt != UNKNOWN_PROMPT

    def test_a_task_is_submitted_to_a_team_that_somebody_moves_or_resumes(self, committed_cast: Cast) -> None:
        cast = committed_cast
        meet(
            lambda: submit_task(actor=cast.operator, team=cast.team, prompt="Build it"),
            first=lambda: lock_scheduler(cast.team.pk),
            then=lambda: Team.objects.select_for_update(no_key=True).get(pk=cast.team.pk),
        )

        assert Task.objects.get().first_seq == 1

    @pytest.mark.parametrize("held", [0, 1])
    def test_leases_are_renewed_while_several_attempts_end(self, committed_cast: Cast, held: int) -> None:
        cast = committed_cast
        plan = [node(1, read=True), node(2, read=True)]
        submit(actor=cast.operator, team=cast.team, prompt="Build it", plan=plan)
        claimed = claim_ready(team=cast.team.pk, organization=cast.organization.pk, policy=DEFAULT)
        attempts = [item.attempt for item in claimed]

        def lock(place: int) -> None:
            AgentLease.objects.select_for_update().get(attempt=attempts[place])

        meet(
            lambda: renew(attempts, policy=DEFAULT),
            first=lambda: lock(held),
            then=lambda: lock(1 - held),
        )

        now = clock.now() + timedelta(seconds=DEFAULT.lease_s / 2)
        assert AgentLease.objects.filter(expires_at__gt=now).count() == 2

    def test_an_agent_retires_while_a_note_of_its_is_decided(self, committed_cast: Cast) -> None:
        cast = committed_cast
        note = approved(cast)
        meet(
            lambda: retire_agent(actor=cast.operator, agent=cast.agents["backend"]),
            first=lambda: Note.objects.select_for_update().get(pk=note.pk),
            then=lambda: Recipient.objects.filter(note=note).update(placement="new"),
        )

        assert verdicts(note)["backend"] == ("withheld", "agent_retired")


@database
@pytest.mark.parametrize("ends", ["team", "agent"])
def test_what_begins_to_land_while_its_agent_goes_is_taken_out_again(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    cast, original, going = committed_cast, landing._new_landing, []
    note = approved(cast)

    def go() -> None:
        if ends == "team":
            archive_team(actor=cast.operator, team=cast.team)
        else:
            retire_agent(actor=cast.operator, agent=cast.agents["backend"])

    def slow(*arguments: object) -> Landing:
        going.append(threads.submit(closing_connections, go))
        assert wait(going, timeout=1).not_done, "it is over before what it must take back is there"
        return original(*arguments)

    monkeypatch.setattr(landing, "_new_landing", slow)
    with ThreadPoolExecutor(1) as threads:
        landing.land_note(note=note.pk, policy=DEFAULT)
        going[0].result(60)

    left = Landing.objects.filter(status__in=LIVE_LANDINGS, remove_requested_at=None)
    assert not left.exists()


class TestRule:
    @pytest.mark.parametrize(
        ("statements", "late"),
        [
            (["UPDATE teams_agent SET a = 1", "SELECT id FROM memory_note FOR UPDATE"], False),
            (["SELECT id FROM memory_note FOR UPDATE", "UPDATE teams_agent SET a = 1"], True),
            (['DELETE FROM "memory_landing"', 'SELECT * FROM "teams_agent" WHERE x FOR NO KEY UPDATE'], True),
            (["SELECT 1 FROM memory_note", "UPDATE teams_agent SET a = 1"], False),
            (["INSERT INTO tasks_task", "UPDATE ledger_log SET a = 1", "UPDATE tasks_task SET a = 1"], False),
            (
                ["SELECT 1 FROM tasks_teamscheduler FOR UPDATE", "UPDATE tasks_span SET", "UPDATE tasks_attempt SET"],
                False,
            ),
            (["UPDATE tasks_span SET", "UPDATE tasks_attempt SET"], True),
            (["UPDATE unheard_of SET a = 1", "UPDATE ledger_log SET a = 1"], True),
            (["UPDATE unheard_of SET a = 1"], False),
        ],
    )
    def test_what_is_locked_too_late_is_named(self, statements: list[str], late: bool) -> None:
        transaction = Transaction()
        assert [bool(transaction.see(one)) for one in statements] == [False] * (len(statements) - 1) + [late]

    @database
    @only_postgresql
    @pytest.mark.parametrize("direct", [True, False])
    def test_statements_are_seen_whichever_way_they_go(self, rows_are_locked_in_one_order: Watch, direct: bool) -> None:
        watch = rows_are_locked_in_one_order

        def lock(table: str) -> None:
            if direct:
                fetch(f"SELECT id FROM {table}{for_update()}")
            else:
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT id FROM {table}{for_update()}")

        with transaction.atomic():
            lock("teams_agent")
            lock("memory_note")
        assert not watch.wrong

        with transaction.atomic():
            lock("ledger_log")
            with together():
                Query("SELECT id FROM memory_note FOR UPDATE", [], len).send()
                Query("SELECT id FROM teams_agent FOR UPDATE", [], len).send()

        assert watch.wrong == [
            "memory_note is locked behind ledger_log: ['ledger_log', 'memory_note']",
            "teams_agent is locked behind ledger_log, memory_note: ['ledger_log', 'memory_note', 'teams_agent']",
        ]
        watch.wrong.clear()  # that was on purpose
