"""The runner when the database fails under it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from uuid import UUID

import pytest
from django.db import OperationalError

from apps.conductor import runner as running
from apps.conductor.pool import embedded_pool
from apps.conductor.story import submit
from apps.conductor.sweep import sweep
from apps.conductor.teams import pause_team
from apps.conductor.wake import wake
from apps.tasks.models import Attempt, Task
from apps.teams.selectors import Gate
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.ports import Launch, RunEnd

pytestmark = pytest.mark.django_db(transaction=True)


def _fail_to_write_ends(monkeypatch, failures) -> None:
    """The turns in which ends are to be written fail, as long as there are failures."""
    original = running.take_turn

    def failing(**arguments):
        if arguments["ends"]:
            for error in failures:
                raise error
        return original(**arguments)

    monkeypatch.setattr(running, "take_turn", failing)


def test_an_end_that_could_not_be_written_is_written_by_the_next_dispatch(committed_cast: Cast, monkeypatch) -> None:
    failures = iter([OperationalError("away"), OperationalError("away")])
    _fail_to_write_ends(monkeypatch, failures)
    runtime = ScriptedRuntime(lambda launch: "the answer")
    with embedded_pool(runtimes=runtime) as pool:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
        for _ in range(3):
            pool.drain(1)
            sweep()
        assert pool.drain(120)

    assert Task.objects.get(pk=task.pk).status == "completed"
    assert list(Attempt.objects.values_list("number", "output")) == [(1, "the answer")]


def test_attempts_that_cannot_be_prepared_end_and_are_counted(committed_cast: Cast, monkeypatch) -> None:
    def broken(*args, **options):
        raise OperationalError("away")

    monkeypatch.setattr(running, "prepare", broken)
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
        assert pool.drain(120)
    assert Task.objects.get(pk=task.pk).status == "failed"
    assert list(Attempt.objects.order_by("number").values_list("status", flat=True)) == ["interrupted", "interrupted"]


def test_without_a_sweep_an_end_is_written_once_the_database_is_back(committed_cast: Cast, monkeypatch) -> None:
    failures = iter([OperationalError("away")])
    _fail_to_write_ends(monkeypatch, failures)
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
        assert pool.drain(120)
    assert Task.objects.get(pk=task.pk).status == "completed"


@pytest.mark.parametrize("thread_id", ["\ud800", "a\x00b", "x" * 300])
def test_a_thread_id_that_no_column_takes_is_cleaned(committed_cast: Cast, thread_id: str) -> None:
    agent = committed_cast.agents["backend"]
    agent.remembers = True
    agent.save()
    runtime = ScriptedRuntime(lambda launch: RunEnd(answer="done", thread_id=thread_id))
    with embedded_pool(runtimes=runtime) as pool:
        submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(2)])
        assert pool.drain(120)
    attempt = Attempt.objects.get()
    assert attempt.status == "completed"
    assert attempt.thread_id in ("\ufffd", "a\ufffdb", "x" * 200)
    assert not agent.cursors.exists()  # a name that had to be changed names no thread that could be continued


def test_one_end_that_cannot_be_stored_does_not_keep_the_others(committed_cast: Cast, monkeypatch) -> None:
    """The database fails first, so that both ends come in one batch; then one of them turns out to be unstorable."""
    came_in = threading.Event()
    batches: list[int] = []

    def strict(write):
        def writing(**arguments):
            ends = arguments["ends"]
            if ends and not came_in.is_set():
                came_in.set()
                raise OperationalError("away")
            if ends:
                batches.append(len(ends))
            if any(ended.end.answer == "evil" for ended in ends):
                raise ValueError("no column takes this")
            return write(**arguments)

        return writing

    def script(launch: Launch) -> str:
        if "evil" in launch.prompt:
            return "evil"
        assert came_in.wait(60)
        return "honest work"

    for name in ("take_turn", "finish_attempts"):
        monkeypatch.setattr(running, name, strict(getattr(running, name)))
    with embedded_pool(runtimes=ScriptedRuntime(script)) as pool:
        plan = [node(2, "evil", area="backend"), node(3, "good", area="frontend")]
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=plan).task
        assert pool.drain(120)
    assert batches[0] == 2
    found = Attempt.objects.order_by("node__index").values_list("status", "error", "output")
    assert list(found) == [("failed", "bad_answer", ""), ("completed", "", "honest work")]
    assert Task.objects.get(pk=task.pk).status == "partial"


def test_two_teams_do_not_take_the_same_free_slot(committed_cast: Cast, monkeypatch) -> None:
    cast = committed_cast
    submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)])
    submit(actor=cast.stranger, team=cast.other_team, prompt="x", plan=[node(1)])
    both = threading.Barrier(2)
    original = running.gate

    def together(team: UUID):
        with suppress(threading.BrokenBarrierError):
            both.wait(1)
        return original(team)

    monkeypatch.setattr(running, "gate", together)
    with embedded_pool(runtimes=ScriptedRuntime(seconds=0.2), slots=1) as pool:
        wake("dispatch", cast.team.pk)
        wake("dispatch", cast.other_team.pk)
        assert pool.drain(120)
        assert pool.runner.peak == 1
    assert set(Task.objects.values_list("status", flat=True)) == {"completed"}


def test_a_slot_that_comes_free_while_a_team_looks_is_not_missed(committed_cast: Cast, monkeypatch) -> None:
    """The last attempt ends after the other team has seen no slot and before it waits for one."""
    cast = committed_cast
    started, may_end = threading.Event(), threading.Event()

    def script(launch: Launch) -> str:
        started.set()
        assert may_end.wait(60)
        return "done"

    with embedded_pool(runtimes=ScriptedRuntime(script), slots=1) as pool:
        original = pool.runner._settle_and_claim

        def slow(team: UUID, organization: UUID, ends, room: int):
            found = original(team, organization, ends, room)
            if team == cast.other_team.pk and not may_end.is_set():
                may_end.set()
                while pool.runner._live:
                    time.sleep(0.01)
                time.sleep(0.1)  # the end has woken everybody who was waiting by then
            return found

        monkeypatch.setattr(pool.runner, "_settle_and_claim", slow)
        submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)])
        assert started.wait(60)
        submit(actor=cast.stranger, team=cast.other_team, prompt="x", plan=[node(1)])
        assert pool.drain(120)
    assert set(Task.objects.values_list("status", flat=True)) == {"completed"}


def test_a_pause_just_before_the_claim_is_seen(committed_cast: Cast, monkeypatch) -> None:
    real, todo = running.gate, [True]

    def pausing(team: UUID) -> Gate:
        found = real(team)
        if todo:
            todo.pop()
            pause_team(actor=committed_cast.operator, team=committed_cast.team, paused=True)
        return found

    submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(2)])
    monkeypatch.setattr(running, "gate", pausing)
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        wake("dispatch", committed_cast.team.pk)
        assert pool.drain(120)
    assert not Attempt.objects.exists()
