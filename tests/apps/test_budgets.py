"""Budgets: set by an owner, counted before anything begins, refused by name, proved in the ledger."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from apps.accounts.services.authorize import AccessRefused
from apps.conductor import story
from apps.conductor.budgets import report_exhausted, set_budget
from apps.conductor.models import Incident, IncidentKind
from apps.conductor.pool import EmbeddedPool, embedded_pool
from apps.conductor.story import close_thread, submit
from apps.conductor.sweep import sweep
from apps.ledger import clock
from apps.ledger.selectors import entries
from apps.memory.models import Flush, Note
from apps.tasks.models import Attempt, Budget, PlanNode, Task
from apps.tasks.services.budgets import budget_of
from apps.tasks.services.claim import claim_ready
from apps.teams.services.teams import create_team
from tests.flows.test_promises import extracted, record
from tests.support.cast import Cast, add_agent
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.errors import Invalid
from tikitaka.policy import DEFAULT
from tikitaka.ports import Launch, RunEnd
from tikitaka.scheduling.budget import NO_LIMITS, Limits
from tikitaka.scheduling.prices import price_list

pytestmark = pytest.mark.django_db(transaction=True)
ONE_BY_ONE = [node(1), node(2, after=(1,)), node(3, after=(2,))]
SIDE_BY_SIDE = [node(1, area="docs"), node(2, area="backend"), node(3, area="frontend")]


def spending(tokens: int) -> ScriptedRuntime:
    """Every attempt reports so many tokens, a fifth of them output."""
    usage = {"input_tokens": tokens * 4 // 5, "output_tokens": tokens // 5}
    return ScriptedRuntime(lambda launch: RunEnd(answer="done", usage=usage))


@pytest.fixture
def pool() -> Iterator[EmbeddedPool]:
    with embedded_pool(runtimes=spending(100)) as pool:
        yield pool


def run(cast: Cast, pool: EmbeddedPool, plan: list[dict], *, limits: Limits = NO_LIMITS) -> Task:
    task = submit(actor=cast.operator, team=cast.team, prompt="x", plan=plan, limits=limits).task
    assert pool.drain(120)
    task.refresh_from_db()
    return task


def statuses(task: Task) -> list[str]:
    return list(PlanNode.objects.filter(task=task).order_by("index").values_list("status", flat=True))


def recorded(cast: Cast, kind: str) -> list[dict]:
    return [json.loads(e.header)["facts"] for e in entries(cast.organization.pk) if e.type == kind]


class TestSetting:
    def test_only_an_owner_sets_one(self, committed_cast: Cast) -> None:
        cast = committed_cast
        for who in (cast.operator, cast.reviewer, cast.auditor, cast.stranger):
            for scope in (cast.organization, cast.team):
                with pytest.raises(AccessRefused):
                    set_budget(actor=who, scope=scope, limits=Limits(attempts=1))
        assert not Budget.objects.exists()
        assert [facts["permission"] for facts in recorded(cast, "access.denied")].count("set_budget") >= 3

    def test_it_is_an_entry_with_every_limit(self, committed_cast: Cast) -> None:
        cast = committed_cast
        set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=5, attempts=0), monthly=True)
        assert recorded(cast, "budget.set") == [{"tokens_max": 5, "attempts_max": 0, "monthly": True}]

    def test_changing_it_keeps_what_was_spent(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        cast = committed_cast
        set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=10_000))
        run(cast, pool, [node(1)])
        budget = set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=20_000))
        assert budget is not None
        assert (budget.tokens, budget.attempts, budget.tokens_max) == (100, 1, 20_000)
        assert Budget.objects.count() == 1

    def test_without_a_limit_it_is_gone(self, committed_cast: Cast) -> None:
        cast = committed_cast
        set_budget(actor=cast.owner, scope=cast.organization, limits=Limits(tokens=1))
        assert set_budget(actor=cast.owner, scope=cast.organization, limits=NO_LIMITS) is None
        assert budget_of(cast.organization) is None
        assert len(recorded(cast, "budget.set")) == 2

    def test_taking_away_what_is_not_there_is_nothing(self, committed_cast: Cast) -> None:
        assert set_budget(actor=committed_cast.owner, scope=committed_cast.team, limits=NO_LIMITS) is None
        assert recorded(committed_cast, "budget.set") == []

    @pytest.mark.parametrize("limit", [-1, 10**15 + 1])
    def test_a_limit_that_is_none(self, committed_cast: Cast, limit: int) -> None:
        with pytest.raises(Invalid) as refused:
            set_budget(actor=committed_cast.owner, scope=committed_cast.team, limits=Limits(tokens=limit))
        assert set(refused.value.fields) == {"tokens_max"}

    def test_a_task_knows_no_months(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        task = run(committed_cast, pool, [node(1)])
        with pytest.raises(Invalid):
            set_budget(actor=committed_cast.owner, scope=task, limits=Limits(tokens=1), monthly=True)

    def test_the_database_holds_one_for_each_scope_and_none_without_limits(self, committed_cast: Cast) -> None:
        whole = {"organization": committed_cast.organization, "since": clock.now()}
        Budget.objects.create(**whole, tokens_max=1)
        for wrong in ({"tokens_max": 2}, {"team": committed_cast.team}):
            with pytest.raises(IntegrityError), transaction.atomic():
                Budget.objects.create(**whole, **wrong)


class TestAttempts:
    def test_no_attempt_begins_past_the_limit_of_its_task(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        task = run(committed_cast, pool, ONE_BY_ONE, limits=Limits(attempts=2))
        assert statuses(task) == ["completed", "completed", "queued"]
        assert task.status == "running"
        (facts,) = recorded(committed_cast, "budget.exhausted")
        assert (facts["reason"], facts["attempts"]) == ("attempts_spent", 2)

    def test_nor_past_that_of_its_team_however_many_are_ready(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        cast = committed_cast
        set_budget(actor=cast.owner, scope=cast.team, limits=Limits(attempts=2))
        run(cast, pool, SIDE_BY_SIDE)
        assert Attempt.objects.count() == 2

    def test_what_only_found_no_slot_is_not_called_spent(self, committed_cast: Cast) -> None:
        cast = committed_cast
        submit(actor=cast.operator, team=cast.team, prompt="x", plan=SIDE_BY_SIDE, limits=Limits(attempts=2))
        PlanNode.objects.update(globs=[])
        assert len(claim_ready(team=cast.team.pk, organization=cast.team.organization_id, policy=DEFAULT, limit=1)) == 1
        assert Budget.objects.get().exhausted == ""
        assert len(claim_ready(team=cast.team.pk, organization=cast.team.organization_id, policy=DEFAULT, limit=5)) == 1
        assert Budget.objects.get().exhausted == "attempts_spent"

    def test_retries_count(self, committed_cast: Cast) -> None:
        failing = ScriptedRuntime(lambda launch: RunEnd(answer=None, error="exit_nonzero"))
        with embedded_pool(runtimes=failing) as pool:
            task = run(committed_cast, pool, [node(1)], limits=Limits(attempts=1))
        assert statuses(task) == ["queued"]
        assert Attempt.objects.count() == 1

    def test_raising_it_lets_what_waited_go_on(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        cast = committed_cast
        task = run(cast, pool, ONE_BY_ONE, limits=Limits(attempts=1))
        report_exhausted()
        assert Incident.objects.get(closed_at=None).kind == IncidentKind.OUT_OF_BUDGET
        set_budget(actor=cast.owner, scope=task, limits=Limits(attempts=3))
        assert pool.drain(120)
        task.refresh_from_db()
        assert task.status == "completed"
        assert not Incident.objects.filter(closed_at=None).exists()

    def test_another_organization_is_not_held(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        cast = committed_cast
        set_budget(actor=cast.owner, scope=cast.organization, limits=Limits(attempts=0))
        held = run(cast, pool, [node(1)])
        free = submit(actor=cast.stranger, team=cast.other_team, prompt="x", plan=[node(1)]).task
        assert pool.drain(120)
        assert Task.objects.get(pk=free.pk).status == "completed"
        assert statuses(held) == ["queued"]

    def test_two_teams_that_claim_at_once_share_the_last_attempts(self, committed_cast: Cast) -> None:
        cast = committed_cast
        teams = [cast.team]
        for number in range(3):
            team = create_team(actor=cast.operator, organization=cast.organization, name=f"Other {number}")
            for name in ("One", "Two"):
                add_agent(cast.operator, team, name)
            teams.append(team)
        for team in teams:
            submit(actor=cast.operator, team=team, prompt="x", plan=[node(1, read=True), node(2, read=True)])
        set_budget(actor=cast.owner, scope=cast.organization, limits=Limits(attempts=5))
        begun: list[int] = []
        together = threading.Barrier(len(teams))

        def claim(team) -> None:
            together.wait()
            begun.append(len(claim_ready(team=team.pk, organization=team.organization_id, policy=DEFAULT)))
            connections.close_all()

        threads = [threading.Thread(target=claim, args=(team,)) for team in teams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert sum(begun) == 5 == Attempt.objects.count()
        budget = budget_of(cast.organization)
        assert budget is not None
        assert budget.attempts == 5


class TestTokens:
    def test_nothing_begins_once_they_are_spent(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        cast = committed_cast
        set_budget(actor=cast.owner, scope=cast.organization, limits=Limits(tokens=150))
        task = run(cast, pool, ONE_BY_ONE)
        assert statuses(task) == ["completed", "completed", "queued"]
        budget = budget_of(cast.organization)
        assert budget is not None
        assert (budget.tokens, budget.attempts, budget.exhausted) == (200, 2, "tokens_spent")

    def test_a_runtime_that_reports_nothing_is_charged_an_estimate(self, committed_cast: Cast) -> None:
        with embedded_pool(runtimes=ScriptedRuntime(lambda launch: "word " * 40)) as pool:
            task = run(committed_cast, pool, [node(1)], limits=Limits(tokens=100_000))
        usage = Attempt.objects.get().usage
        assert usage["estimated"] == 1
        assert usage["output_tokens"] == 50
        assert Budget.objects.get(task=task).tokens == usage["input_tokens"] + usage["output_tokens"] > 60

    def test_a_refusal_is_one_entry_however_often_it_is_repeated(
        self, committed_cast: Cast, pool: EmbeddedPool
    ) -> None:
        cast = committed_cast
        run(cast, pool, ONE_BY_ONE, limits=Limits(tokens=1))
        for _ in range(3):
            sweep()
            assert pool.drain(120)
        assert len(recorded(cast, "budget.exhausted")) == 1
        incident = Incident.objects.get(kind=IncidentKind.OUT_OF_BUDGET)
        assert incident.count == 3
        assert "tokens_spent" in incident.detail

    def test_cancelling_ends_the_incident(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        task = run(committed_cast, pool, ONE_BY_ONE, limits=Limits(tokens=1))
        report_exhausted()
        story.cancel(actor=committed_cast.operator, task=task)
        assert pool.drain(120)
        assert report_exhausted() == 0
        assert Incident.objects.get().closed_at is not None


class TestMonths:
    def test_it_begins_anew_with_the_month(self, committed_cast: Cast) -> None:
        cast = committed_cast
        now = [datetime(2026, 11, 30, 23, 0, tzinfo=UTC)]
        with clock.running_on(lambda: now[0]), embedded_pool(runtimes=spending(100)) as pool:
            set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=100), monthly=True)
            task = run(cast, pool, ONE_BY_ONE)
            assert statuses(task) == ["completed", "queued", "queued"]
            now[0] = datetime(2026, 12, 1, 0, 0, 1, tzinfo=UTC)
            story.settle(task.pk)
            assert pool.drain(120)
            assert statuses(task) == ["completed", "completed", "queued"]
            budget = budget_of(cast.team)
            assert budget is not None
            assert (budget.tokens, budget.attempts) == (100, 1)
            now[0] = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)  # the clock is set back
            story.settle(task.pk)
            assert pool.drain(120)
            assert statuses(task) == ["completed", "completed", "queued"]

    def test_one_that_becomes_monthly_keeps_what_was_spent(self, committed_cast: Cast) -> None:
        cast = committed_cast
        now = [datetime(2026, 10, 30, tzinfo=UTC)]
        with clock.running_on(lambda: now[0]), embedded_pool(runtimes=spending(100)) as pool:
            set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=100))
            task = run(cast, pool, ONE_BY_ONE)
            now[0] = datetime(2026, 11, 5, tzinfo=UTC)
            set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=100), monthly=True)
            assert pool.drain(120)
            assert statuses(task) == ["completed", "queued", "queued"]
            now[0] = datetime(2026, 12, 1, tzinfo=UTC)
            story.settle(task.pk)
            assert pool.drain(120)
            assert statuses(task) == ["completed", "completed", "queued"]

    def test_one_for_good_never_does(self, committed_cast: Cast) -> None:
        cast = committed_cast
        now = [datetime(2026, 11, 30, tzinfo=UTC)]
        with clock.running_on(lambda: now[0]), embedded_pool(runtimes=spending(100)) as pool:
            set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=100))
            task = run(cast, pool, ONE_BY_ONE)
            now[0] = datetime(2027, 5, 1, tzinfo=UTC)
            story.settle(task.pk)
            assert pool.drain(120)
            assert statuses(task) == ["completed", "queued", "queued"]


class TestCosts:
    def test_tokens_cost_what_the_list_says(self, committed_cast: Cast, pool: EmbeddedPool, settings) -> None:
        settings.TIKITAKA_PRICES = price_list('{"process": {"input": 1, "output": 5}}')
        task = run(committed_cast, pool, ONE_BY_ONE, limits=Limits(cost_micros=181))
        budget = Budget.objects.get(task=task)
        assert budget.cost_micros == 2 * (80 + 20 * 5)
        assert (statuses(task), budget.exhausted) == (["completed", "completed", "queued"], "cost_spent")

    def test_without_a_price_nothing_begins_and_with_one_it_goes_on(
        self, committed_cast: Cast, pool: EmbeddedPool, settings
    ) -> None:
        cast = committed_cast
        settings.TIKITAKA_PRICES = {}
        task = run(cast, pool, [node(1)], limits=Limits(cost_micros=10**6))
        assert not Attempt.objects.exists()
        assert Budget.objects.get(task=task).exhausted == "price_unknown"
        settings.TIKITAKA_PRICES = price_list('{"process": {"input": 1, "output": 5}}')
        story.settle(task.pk)
        assert pool.drain(120)
        assert statuses(task) == ["completed"]
        assert Budget.objects.get(task=task).exhausted == ""


class TestModels:
    """The planner and the extractor are asked only while the budgets allow it."""

    def test_a_task_whose_plan_cannot_be_paid_stays_queued(self, committed_cast: Cast, settings) -> None:
        cast = committed_cast
        settings.TIKITAKA_PLANNER = "replay"
        record(settings, "plan", json.dumps([node(1)]), usage={"prompt_tokens": 70, "completion_tokens": 30})
        set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=100))
        with embedded_pool(runtimes=spending(0)) as pool:
            planned = submit(actor=cast.operator, team=cast.team, prompt="x").task
            assert pool.drain(120)
            waiting = submit(actor=cast.operator, team=cast.team, prompt="y").task
            assert pool.drain(120)
            assert Task.objects.get(pk=planned.pk).plan_source == "model"
            assert Task.objects.get(pk=waiting.pk).status == "queued"
            assert len(recorded(cast, "model.called")) == 1
            set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=1_000_000))
            assert pool.drain(120)
        assert Task.objects.get(pk=waiting.pk).status == "completed"

    def test_a_call_that_brings_no_count_is_charged_by_what_was_sent(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_PLANNER = "replay"  # and no answer is recorded
        set_budget(actor=committed_cast.owner, scope=committed_cast.team, limits=Limits(tokens=10**6))
        with embedded_pool(runtimes=spending(0)) as pool:
            submit(actor=committed_cast.operator, team=committed_cast.team, prompt="long " * 400)
            assert pool.drain(120)
        budget = budget_of(committed_cast.team)
        assert budget is not None
        assert budget.tokens >= 500

    def test_a_flush_waits_without_losing_an_attempt(self, committed_cast: Cast, settings) -> None:
        cast = committed_cast
        settings.TIKITAKA_EXTRACTOR = "replay"
        record(settings, "extract", json.dumps({"notes": [extracted("Uploads need a limit.")]}))
        with embedded_pool(runtimes=spending(100)) as pool:
            run(cast, pool, [node(2)])
            set_budget(actor=cast.owner, scope=cast.organization, limits=Limits(tokens=0))
            close_thread(actor=cast.operator, team=cast.team)
            assert pool.drain(120)
            waiting = Flush.objects.get()
            assert (waiting.status, waiting.attempts) == ("waiting", [])
            set_budget(actor=cast.owner, scope=cast.organization, limits=Limits(tokens=10**6))
            assert pool.drain(120)
        assert Flush.objects.get().status == "done"
        assert Note.objects.count() == 1
        budget = budget_of(cast.organization)
        assert budget is not None
        assert budget.tokens > 0

    def test_without_a_model_nothing_is_refused(self, committed_cast: Cast, pool: EmbeddedPool) -> None:
        cast = committed_cast
        set_budget(actor=cast.owner, scope=cast.team, limits=Limits(tokens=0))
        task = submit(actor=cast.operator, team=cast.team, prompt="x").task
        assert pool.drain(120)
        task.refresh_from_db()
        assert task.plan_source == "fallback"


def test_without_budgets_nobody_asks_for_them(committed_cast: Cast) -> None:
    """A query more for everybody whose organization limits nothing would be one for every dispatch."""
    cast = committed_cast

    def asked() -> list[str]:
        submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)])
        with CaptureQueriesContext(connection) as found:
            claim_ready(team=cast.team.pk, organization=cast.team.organization_id, policy=DEFAULT)
        return [query["sql"] for query in found if 'FROM "tasks_budget"' in query["sql"]]

    assert asked() == []
    set_budget(actor=cast.owner, scope=cast.organization, limits=Limits(tokens=1))
    assert len(asked()) == 1


def test_the_launch_is_not_even_prepared(committed_cast: Cast) -> None:
    asked: list[Launch] = []
    runtime = ScriptedRuntime(lambda launch: asked.append(launch) or "done")
    with embedded_pool(runtimes=runtime) as pool:
        run(committed_cast, pool, [node(1)], limits=Limits(attempts=0))
    assert asked == []
