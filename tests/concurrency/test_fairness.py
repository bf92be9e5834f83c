"""One organization's many tasks do not starve another's one, in a process with few slots."""

from __future__ import annotations

import threading

import pytest

from apps.conductor.pool import embedded_pool
from apps.conductor.runner import Runner
from apps.conductor.story import submit
from apps.tasks.models import Attempt, Task
from apps.teams.services.teams import create_team
from tests.support.cast import Cast, add_agent
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tests.support.workers import wait_until
from tikitaka.ports import Launch

pytestmark = pytest.mark.django_db(transaction=True)
SLOTS = 2
STEPS = 4


def test_who_has_just_ended_a_step_finds_a_slot_for_the_next(committed_cast: Cast) -> None:
    cast, started = committed_cast, []
    many = [node(agent, read=True) for agent in (1, 2, 3)]
    submit(actor=cast.operator, team=cast.team, prompt="many", plan=many)
    single = submit(actor=cast.stranger, team=cast.other_team, prompt="one", plan=[node(1), node(2, after=(1,))]).task
    runner = Runner(start=started.append, slots=SLOTS, runtimes=ScriptedRuntime())
    runner.dispatch(cast.other_team.pk)
    runner.dispatch(cast.team.pk)
    first, _ = started
    first()

    runner.dispatch(cast.team.pk)
    runner.dispatch(cast.other_team.pk)
    runner.stop()

    assert [len(started), Attempt.objects.filter(task=single).count()] == [3, 2]


def test_a_single_task_beside_many(committed_cast: Cast) -> None:
    cast = committed_cast
    crowd = [cast.team]
    for number in range(3):
        team = create_team(actor=cast.operator, organization=cast.organization, name=f"Crowd {number}", width=4)
        for name in ("One", "Two", "Three"):
            add_agent(cast.operator, team, name)
        crowd.append(team)
    everybody_waits = threading.Event()

    def answer(launch: Launch) -> str:
        everybody_waits.wait(60)
        return "done"

    with embedded_pool(runtimes=ScriptedRuntime(answer, seconds=0.03), slots=SLOTS) as pool:
        for team in crowd:
            for _ in range(6):
                submit(actor=cast.operator, team=team, prompt="many", plan=[node(1), node(2), node(3)])
        steps = [node(1 + step % 2, after=(step,) if step else ()) for step in range(STEPS)]
        single = submit(actor=cast.stranger, team=cast.other_team, prompt="one", plan=steps).task
        wait_until(lambda: cast.other_team.pk in pool.runner._hungry, 60)
        everybody_waits.set()
        assert pool.drain(120)

    assert not Task.objects.exclude(status="completed").exists()
    order = list(Attempt.objects.order_by("started_at").values_list("task_id", flat=True))
    places = [place for place, task in enumerate(order) if task == single.pk]
    assert len(order) == 4 * 6 * 3 + STEPS
    assert places[-1] <= 20, places
