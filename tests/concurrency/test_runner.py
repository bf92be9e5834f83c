"""The runner when the database fails under it."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from apps.conductor import runner as running
from apps.conductor.pool import embedded_pool
from apps.conductor.story import submit
from apps.conductor.sweep import sweep
from apps.tasks.models import Attempt, Task
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_end_that_could_not_be_written_is_written_by_the_next_dispatch(committed_cast: Cast, monkeypatch) -> None:
    failures = iter([OperationalError("away"), OperationalError("away")])
    original = running.finish_attempts

    def failing(**arguments):
        for error in failures:
            raise error
        return original(**arguments)

    monkeypatch.setattr(running, "finish_attempts", failing)
    runtime = ScriptedRuntime(lambda launch: "the answer")
    with embedded_pool(runtimes=runtime) as pool:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
        for _ in range(3):
            pool.drain(1)
            sweep()
        assert pool.drain(20)

    assert Task.objects.get(pk=task.pk).status == "completed"
    assert list(Attempt.objects.values_list("number", "output")) == [(1, "the answer")]


def test_attempts_that_cannot_be_prepared_end_and_are_counted(committed_cast: Cast, monkeypatch) -> None:
    def broken(*args, **options):
        raise OperationalError("away")

    monkeypatch.setattr(running, "prepare", broken)
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
        assert pool.drain(20)
    assert Task.objects.get(pk=task.pk).status == "failed"
    assert list(Attempt.objects.order_by("number").values_list("status", flat=True)) == ["interrupted", "interrupted"]
