"""Tasks run by the embedded pool: graphs, retries, failures, cancelling, resuming."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from apps.conductor.pool import embedded_pool
from apps.conductor.story import cancel, resume, submit
from apps.context.models import ContextSnapshot
from apps.tasks.models import AgentLease, Attempt, Message, Span, Task, TreeLock
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tests.support.secrets import github_token
from tikitaka.errors import Invalid
from tikitaka.ports import RunEnd

pytestmark = pytest.mark.django_db(transaction=True)


def run(cast: Cast, plan, *, runtime=None, prompt="A task", slots=8) -> Task:
    arguments = {"runtimes": runtime} if runtime else {}
    with embedded_pool(slots=slots, **arguments) as pool:
        task = submit(actor=cast.operator, team=cast.team, prompt=prompt, plan=plan).task
        assert pool.drain(120)
    task.refresh_from_db()
    return task


def sleepers(mark: str) -> str:
    return subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True, check=False).stdout


def statuses(task: Task) -> list[str]:
    return list(task.nodes.order_by("index").values_list("status", flat=True))


class TestPeakInFlight:
    """Concurrency is shown by how many were inside at one moment, never by totals."""

    @pytest.mark.parametrize(
        ("plan", "width", "peak"),
        [
            ([node(1, area="backend"), node(2, area="frontend")], 4, 2),
            ([node(1, area="backend"), node(2, area="general")], 4, 1),
            ([node(1, area="backend"), node(1, area="frontend")], 4, 1),
            ([node(1, area="backend"), node(2, area="frontend")], 1, 1),
            ([node(1, area="backend", read=True), node(2, area="general")], 4, 2),
        ],
        ids=["disjoint areas", "overlapping areas", "same agent", "width one", "reading locks nothing"],
    )
    def test_peak(self, committed_cast: Cast, plan, width, peak) -> None:
        committed_cast.team.width = width
        committed_cast.team.save()
        runtime = ScriptedRuntime(seconds=0.3)

        task = run(committed_cast, plan, runtime=runtime)

        assert runtime.peak == peak
        assert task.status == "completed"

    def test_two_tasks_of_one_team_share_leases_and_locks(self, committed_cast: Cast) -> None:
        runtime = ScriptedRuntime(seconds=0.2)
        with embedded_pool(runtimes=runtime) as pool:
            for area in ("backend", "backend", "frontend"):
                agent = {"backend": 2, "frontend": 3}[area]
                submit(
                    actor=committed_cast.operator, team=committed_cast.team, prompt=area, plan=[node(agent, area=area)]
                )
            assert pool.drain(120)

        assert runtime.peak == 2
        assert set(Task.objects.values_list("status", flat=True)) == {"completed"}


def test_a_node_starts_when_its_own_dependencies_end(committed_cast: Cast) -> None:
    """No barrier per layer: node 4 needs only node 1, and starts while the slow node 2 of the same layer still runs."""
    slow = ScriptedRuntime(lambda launch: time.sleep(0.8) or "slow" if "slow" in launch.prompt else "fast")
    plan = [
        node(1, "fast", area="backend"),
        node(2, "slow", area="frontend"),
        node(3, "after fast", after=(1,), area="docs"),
    ]

    task = run(committed_cast, plan, runtime=slow)

    by_agent = {n.index: n for n in task.nodes.all()}
    third = next(n for n in by_agent.values() if n.instruction == "after fast")
    second = next(n for n in by_agent.values() if n.instruction == "slow")
    assert third.started_at < second.finished_at


class TestProcesses:
    def test_spans_and_messages_of_a_real_program(self, committed_cast: Cast) -> None:
        task = run(committed_cast, [node(1, "do: think hmm\ndo: say The answer is 42.")])

        attempt = Attempt.objects.get(task=task)
        assert [(s.kind, s.text) for s in attempt.spans.order_by("seq")] == [
            ("reasoning", "hmm"),
            ("agent_message", "The answer is 42."),
        ]
        assert attempt.output == "The answer is 42."
        assert list(Message.objects.filter(team=committed_cast.team).order_by("seq").values_list("seq", "text")) == [
            (1, "A task"),
            (2, "The answer is 42."),
        ]

    def test_a_failed_attempt_is_a_row_of_its_own_and_tried_once_more(self, committed_cast: Cast) -> None:
        task = run(committed_cast, [node(1, "do: fail-once mark\ndo: say second try")])

        assert list(Attempt.objects.filter(task=task).order_by("number").values_list("number", "status", "error")) == [
            (1, "failed", "exit_nonzero"),
            (2, "completed", ""),
        ]
        assert task.status == "completed"

    def test_no_answer_is_not_retried(self, committed_cast: Cast) -> None:
        task = run(committed_cast, [node(1, "do: think nothing to say")])

        assert list(Attempt.objects.filter(task=task).values_list("error", flat=True)) == ["no_answer"]
        assert task.status == "failed"

    def test_a_missing_program_is_not_retried(self, committed_cast: Cast) -> None:
        agent = committed_cast.agents["security"]
        agent.command = ["no-such-program"]
        agent.save()

        task = run(committed_cast, [node(1)])

        assert list(Attempt.objects.filter(task=task).values_list("error", flat=True)) == ["missing_program"]

    def test_too_much_output_is_not_retried(self, committed_cast: Cast) -> None:
        task = run(committed_cast, [node(1, "do: flood 3000000")])

        assert list(Attempt.objects.filter(task=task).values_list("error", flat=True)) == ["output_overflow"]

    def test_nothing_of_a_secret_is_kept(self, committed_cast: Cast) -> None:
        secret = github_token()
        task = run(committed_cast, [node(1, f"do: think token {secret}\ndo: say use {secret} please")])

        stored = [
            *Span.objects.values_list("text", flat=True),
            *Message.objects.filter(agent__isnull=False).values_list("text", flat=True),
        ]
        stored += [a.output for a in Attempt.objects.filter(task=task)]
        assert not any(secret in text for text in stored)
        assert any("[REDACTED_SECRET]" in text for text in stored)

    def test_children_that_leave_the_group_do_not_outlive_the_attempt(self, committed_cast: Cast) -> None:
        mark = f"77.{os.getpid()}"
        run(committed_cast, [node(1, f"do: spawn {mark}\ndo: say done")])

        assert not sleepers(mark)


class TestFailure:
    PLAN = [
        node(1, "ok", area="backend"),
        node(2, "break", area="frontend"),
        node(3, "needs both", after=(1, 2), area="docs"),
        node(1, "needs one", after=(1,), area="tests"),
    ]

    @staticmethod
    def runtime(broken: bool = True) -> ScriptedRuntime:
        def script(launch):
            if broken and "\nbreak" in launch.prompt:
                return RunEnd(answer=None, error="bad_answer", detail="no")
            return "fine"

        return ScriptedRuntime(script)

    def test_a_failure_blocks_only_its_descendants_and_is_named(self, committed_cast: Cast) -> None:
        task = run(committed_cast, self.PLAN, runtime=self.runtime())

        nodes = {n.instruction: n for n in task.nodes.all()}
        assert nodes["needs one"].status == "completed"
        assert nodes["needs both"].status == "cancelled"
        assert nodes["needs both"].blocked_by == nodes["break"]
        assert task.status == "partial"

    def test_resuming_runs_blocked_branches_and_keeps_finished_work(self, committed_cast: Cast) -> None:
        task = run(committed_cast, self.PLAN, runtime=self.runtime())
        finished = Attempt.objects.filter(task=task, status="completed").count()

        with embedded_pool(runtimes=self.runtime(broken=False)) as pool:
            resume(actor=committed_cast.operator, task=Task.objects.select_related("team").get(pk=task.pk))
            assert pool.drain(120)

        task.refresh_from_db()
        assert task.status == "completed"
        assert Attempt.objects.filter(task=task, status="completed").count() == finished + 2
        assert not task.nodes.filter(blocked_by__isnull=False).exists()

    def test_a_bad_ready_plan_is_refused_whole(self, committed_cast: Cast) -> None:
        with pytest.raises(Invalid, match="cycle"):
            submit(
                actor=committed_cast.operator,
                team=committed_cast.team,
                prompt="x",
                plan=[node(1, after=(2,)), node(2, after=(1,))],
            )
        assert not Task.objects.exists()


def test_cancelling_leaves_no_process_no_lease_and_no_lock(committed_cast: Cast) -> None:
    mark = f"66.{os.getpid()}"
    plan = [
        node(1, f"do: spawn {mark}\ndo: sleep 60", area="backend"),
        node(2, "do: sleep 60", area="frontend"),
        node(3, after=(1, 2)),
    ]
    with embedded_pool() as pool:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=plan).task
        wait_until(lambda: AgentLease.objects.count() == 2 and sleepers(mark))
        cancel(actor=committed_cast.operator, task=Task.objects.select_related("team").get(pk=task.pk))
        assert pool.drain(120)

    task.refresh_from_db()
    assert task.status == "cancelled"
    assert set(statuses(task)) == {"cancelled"}
    assert set(Attempt.objects.values_list("status", flat=True)) == {"cancelled"}
    assert not AgentLease.objects.exists()
    assert not TreeLock.objects.exists()
    assert not sleepers(mark)


class TestInjection:
    def test_after_two_ran_in_parallel_each_still_gets_the_others_message(self, committed_cast: Cast) -> None:
        """The cursor moves to the frozen bound only, so what was said meanwhile is new the next time."""
        for agent in committed_cast.agents.values():
            agent.remembers = True
            agent.save()

        def script(launch):
            name = "backend" if "You are Backend" in launch.prompt else "frontend"
            return RunEnd(answer=f"word of {name}", thread_id=launch.thread_id or f"thread-{name}")

        runtime = ScriptedRuntime(script, seconds=0.2)
        run(committed_cast, [node(2, area="backend"), node(3, area="frontend")], runtime=runtime)
        assert runtime.peak == 2
        again = ScriptedRuntime(script)
        task = run(
            committed_cast, [node(2, area="backend"), node(3, area="frontend")], runtime=again, prompt="Another task"
        )

        prompts = {("backend" if "You are Backend" in p else "frontend"): p for p in again.prompts}
        assert "word of frontend" in prompts["backend"]
        assert "word of backend" in prompts["frontend"]
        assert "word of backend" not in prompts["backend"]
        snapshots = ContextSnapshot.objects.filter(attempt__task=task)
        assert all(s.injected_messages for s in snapshots)

    def test_the_snapshot_is_saved_before_the_agent_starts(self, committed_cast: Cast) -> None:
        seen = []

        def script(launch):
            seen.append(ContextSnapshot.objects.filter(attempt_id=launch.attempt_id, rendered=launch.prompt).exists())
            return "done"

        run(committed_cast, [node(1)], runtime=ScriptedRuntime(script))

        assert seen == [True]


def wait_until(condition, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_pause_starts_nothing_and_goes_on_afterwards(committed_cast: Cast) -> None:
    from apps.conductor.teams import pause_team

    pause_team(actor=committed_cast.operator, team=committed_cast.team, paused=True)
    runtime = ScriptedRuntime()
    with embedded_pool(runtimes=runtime) as pool:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
        assert pool.drain(120)
        assert not Attempt.objects.exists()
        pause_team(actor=committed_cast.operator, team=committed_cast.team, paused=False)
        assert pool.drain(120)
    task.refresh_from_db()
    assert task.status == "completed"


def test_a_pool_with_one_slot_still_runs_everything(committed_cast: Cast) -> None:
    task = run(
        committed_cast,
        [node(1, area="backend"), node(2, area="frontend"), node(3, area="docs")],
        runtime=ScriptedRuntime(),
        slots=1,
    )
    assert task.status == "completed"
