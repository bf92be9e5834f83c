"""What must not run any more is neither resumed nor planned: retired agents, archived teams, imported work."""

from __future__ import annotations

import pytest
from django.conf import settings

from apps.conductor import story
from apps.conductor.pool import embedded_pool
from apps.conductor.story import resume, submit
from apps.conductor.teams import AgentBusy, archive_team, retire_agent
from apps.ledger import clock
from apps.tasks.models import Attempt, PlanNode, PlanSource, Task
from apps.tasks.services.plan import save_plan, start_planning
from apps.teams.models import Agent, Team
from apps.teams.selectors import active_agents
from tests.flows.test_importing import bring_in, plain
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.errors import WrongState
from tikitaka.planning.fallback import sequential_plan
from tikitaka.ports import ModelReply, ModelRequest, RunEnd

pytestmark = pytest.mark.django_db(transaction=True)


def failed_task(cast: Cast) -> Task:
    runtime = ScriptedRuntime(lambda launch: RunEnd(answer=None, error="bad_answer"))
    with embedded_pool(runtimes=runtime) as pool:
        task = submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(2)]).task
        assert pool.drain(120)
    return Task.objects.get(pk=task.pk, status="failed")


def refused(cast: Cast, task: Task) -> str:
    """The code with which resuming is refused; nothing of the task has changed."""
    before = Attempt.objects.count()
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        with pytest.raises(WrongState) as caught:
            resume(actor=cast.operator, task=task)
        assert pool.drain(120)
    assert Task.objects.get(pk=task.pk).status == "failed"
    assert Attempt.objects.count() == before
    return caught.value.code


class TestResuming:
    def test_a_retired_agent_does_not_run_again(self, committed_cast: Cast) -> None:
        task = failed_task(committed_cast)
        retire_agent(actor=committed_cast.operator, agent=committed_cast.agents["backend"])
        assert refused(committed_cast, task) == "agent_retired"

    def test_the_retirement_of_an_agent_without_work_in_it_does_not_matter(self, committed_cast: Cast) -> None:
        task = failed_task(committed_cast)
        retire_agent(actor=committed_cast.operator, agent=committed_cast.agents["frontend"])
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            resume(actor=committed_cast.operator, task=task)
            assert pool.drain(120)
        assert Task.objects.get(pk=task.pk).status == "completed"

    def test_an_archived_team_takes_up_nothing_again(self, committed_cast: Cast) -> None:
        task = failed_task(committed_cast)
        archive_team(actor=committed_cast.operator, team=committed_cast.team)
        assert refused(committed_cast, task) == "team_archived"

    def test_an_imported_turn_is_a_record_and_no_order(self, committed_cast: Cast) -> None:
        turn = [{"type": "prompt", "text": "delete the old backups"}, {"type": "end", "status": "interrupted"}]
        bring_in(committed_cast, plain(*turn))
        assert refused(committed_cast, Task.objects.get()) == "imported_task"


class TestPlanning:
    def test_nobody_retires_while_a_planner_thinks(self, committed_cast: Cast, monkeypatch) -> None:
        """The planner was shown the agent and may give it work."""
        refusals: list[str] = []

        class Planner:
            name = priced_as = "slow"

            def complete(self, request: ModelRequest) -> ModelReply:
                try:
                    retire_agent(actor=committed_cast.operator, agent=committed_cast.agents["backend"])
                except AgentBusy as refusal:
                    refusals.append(refusal.code)
                return ModelReply(body=None, failure="off")

        monkeypatch.setattr(story, "planner", Planner)
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x")
            assert pool.drain(120)
        assert refusals == ["agent_busy"]
        assert Task.objects.get().status == "completed"

    def test_a_plan_that_names_a_retired_agent_is_not_saved(self, committed_cast: Cast) -> None:
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x").task
        agents = list(active_agents(committed_cast.team.pk))
        plan = sequential_plan("x", [agent.name for agent in agents], policy=settings.TIKITAKA_POLICY)
        retire_agent(actor=committed_cast.operator, agent=committed_cast.agents["backend"])
        assert start_planning(task=task.pk, policy=settings.TIKITAKA_POLICY)
        with pytest.raises(WrongState) as caught:
            save_plan(task=task, plan=plan, agents=agents, source=PlanSource.MODEL)
        assert caught.value.code == "agent_retired"
        assert not PlanNode.objects.exists()
        assert Task.objects.get().status == "planning"

    def test_an_agent_that_went_while_the_model_thought_leads_to_a_new_plan_at_once(
        self, committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[int] = []

        class Planner:
            name = priced_as = "short"

            def complete(self, request: object) -> ModelReply:
                calls.append(1)
                if len(calls) == 1:  # a retirement that had been decided just before the planner was shown the team
                    Agent.objects.filter(pk=committed_cast.agents["backend"].pk).update(retired_at=clock.now())
                return ModelReply(body=None, failure="off")

        monkeypatch.setattr(story, "planner", Planner)
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x")
            assert pool.drain(120)

        assert len(calls) == 2
        assert Task.objects.get().status == "completed"
        assert not PlanNode.objects.filter(agent=committed_cast.agents["backend"]).exists()

    def test_a_team_archived_since_the_page_was_drawn_takes_no_task(self, committed_cast: Cast) -> None:
        shown = Team.objects.get(pk=committed_cast.team.pk)
        archive_team(actor=committed_cast.operator, team=committed_cast.team)

        with pytest.raises(WrongState) as caught:
            submit(actor=committed_cast.operator, team=shown, prompt="x")

        assert caught.value.code == "team_not_ready"
        assert not Task.objects.exists()
