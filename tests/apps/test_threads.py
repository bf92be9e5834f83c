"""Threads of agents that remember: which are continued, and who may say how far they were shown the log."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings

from apps.conductor.pool import embedded_pool
from apps.conductor.preparation import inquire, prepare
from apps.conductor.story import assign_segments, submit
from apps.ledger import clock
from apps.ledger.queries import Query
from apps.memory.models import Note
from apps.memory.selectors import landings_to_remove
from apps.memory.services.landing.remove import remove_landing
from apps.memory.services.review import revoke
from apps.tasks.models import AgentLease, ThreadCursor
from apps.tasks.selectors import work_orders
from apps.tasks.services.claim import claim_ready
from apps.tasks.services.stop import end_expired
from tests.support.cast import Cast
from tests.support.notes import landed
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.ports import Launch, RunEnd

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_segment_may_take_a_task_in_while_its_attempt_is_prepared(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = committed_cast.team
    task = submit(actor=committed_cast.operator, team=team, prompt="Uploads", plan=[node(2)]).task
    (claimed,) = claim_ready(team=team.pk, organization=team.organization_id, policy=settings.TIKITAKA_POLICY)
    orders = work_orders([claimed.node]).ask()
    assign_segments(team.pk)
    task.refresh_from_db()
    assert task.segment_id is not None
    monkeypatch.setattr("apps.conductor.preparation.work_orders", lambda _: Query("SELECT 1", [], lambda _: orders))

    inquiry = inquire([claimed])
    assert inquiry is not None
    (prepared,) = prepare(inquiry, policy=settings.TIKITAKA_POLICY)

    assert "Uploads" in prepared.launch.prompt


def remembering(cast: Cast) -> None:
    agent = cast.agents["backend"]
    agent.remembers = True
    agent.save()


def take_back(cast: Cast, note: Note) -> None:
    revoke(actor=cast.reviewer, note=Note.objects.get(pk=note.pk), words="no")
    for landing in landings_to_remove():
        remove_landing(landing=landing, policy=settings.TIKITAKA_POLICY)


def continued(cast: Cast, first_run, *, runs: int = 2) -> list[str | None]:
    """The thread that each of some runs is told to continue; `first_run` happens inside the first."""
    threads: list[str | None] = []

    def script(launch: Launch) -> RunEnd:
        threads.append(launch.thread_id)
        if len(threads) == 1:
            first_run()
        return RunEnd(answer="done", thread_id=f"T{len(threads)}")

    with embedded_pool(runtimes=ScriptedRuntime(script)) as pool:
        for _ in range(runs):
            submit(actor=cast.operator, team=cast.team, prompt="Uploads", plan=[node(2)])
            assert pool.drain(120)
    return threads


def test_a_thread_is_continued(committed_cast: Cast) -> None:
    remembering(committed_cast)
    assert continued(committed_cast, lambda: None) == [None, "T1"]


def test_a_thread_that_ran_while_a_note_was_taken_back_is_not_continued(committed_cast: Cast) -> None:
    """The thread has read the note and has no cursor yet that could be closed; the next one is continued again."""
    remembering(committed_cast)
    note = landed(committed_cast)
    assert continued(committed_cast, lambda: take_back(committed_cast, note), runs=3) == [None, None, "T2"]


def test_an_attempt_that_was_fenced_out_moves_no_cursor(committed_cast: Cast) -> None:
    remembering(committed_cast)

    def lose_the_lease() -> None:
        AgentLease.objects.update(expires_at=clock.now() - timedelta(seconds=1))
        end_expired(policy=settings.TIKITAKA_POLICY)

    continued(committed_cast, lose_the_lease, runs=1)
    assert not ThreadCursor.objects.filter(thread_id="T1").exists()
