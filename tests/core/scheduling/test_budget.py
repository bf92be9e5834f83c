"""The rules of budgets and prices: what may begin, what it costs."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.errors import Invalid
from tikitaka.scheduling.budget import Account, Limits, Overspent, Purse, Spent, month_of
from tikitaka.scheduling.graph import NodeState, NodeStatus
from tikitaka.scheduling.prices import TokenCount, price_list, token_count
from tikitaka.scheduling.ready import Busy, Hold, TaskGraph, select_ready

NOTHING = Spent()
IDLE = Busy(running=0, agents=frozenset(), prefixes=())
counts = st.integers(min_value=0, max_value=10**6)
limits = st.none() | st.integers(min_value=0, max_value=20)


def account(spent: Spent = NOTHING, **maxima: int) -> Account:
    return Account(key=uuid4(), limits=Limits(**maxima), spent=spent)


def independent(count: int) -> tuple[NodeState, ...]:
    return tuple(
        NodeState(id=uuid4(), index=index, agent=uuid4(), status=NodeStatus.QUEUED, depends_on=(), prefixes=())
        for index in range(1, count + 1)
    )


@pytest.mark.parametrize(
    ("found", "priced", "reason"),
    [
        (account(attempts=3, spent=Spent(attempts=2)), True, None),
        (account(attempts=3, spent=Spent(attempts=3)), True, Overspent.ATTEMPTS),
        (account(attempts=0), True, Overspent.ATTEMPTS),
        (account(tokens=100, spent=Spent(tokens=99)), True, None),
        (account(tokens=100, spent=Spent(tokens=100)), True, Overspent.TOKENS),
        (account(cost_micros=5, spent=Spent(cost_micros=4)), True, None),
        (account(cost_micros=5, spent=Spent(cost_micros=6)), True, Overspent.COST),
        (account(cost_micros=5), False, Overspent.NO_PRICE),
        (account(tokens=5), False, None),
    ],
)
def test_why_an_attempt_may_not_begin(found: Account, priced: bool, reason: Overspent | None) -> None:
    assert found.refusal(priced=priced) == reason


def test_a_call_to_a_model_is_no_attempt() -> None:
    assert account(attempts=0).call_refusal(priced=True) is None


@given(task_limit=limits, team_limit=limits, width=st.integers(min_value=1, max_value=8))
def test_no_more_attempts_begin_than_every_budget_allows(
    task_limit: int | None, team_limit: int | None, width: int
) -> None:
    first, second = uuid4(), uuid4()
    graphs = [TaskGraph(task=first, nodes=independent(6)), TaskGraph(task=second, nodes=independent(6))]
    purse = Purse(
        shared=(Account(key=uuid4(), limits=Limits(attempts=team_limit), spent=Spent()),),
        by_task={first: Account(key=uuid4(), limits=Limits(attempts=task_limit), spent=Spent())},
    )
    found = select_ready(graphs, IDLE, width=width, purse=purse)
    of_first = [node for node in found.start if node in graphs[0].nodes]
    assert len(of_first) <= (6 if task_limit is None else task_limit)
    assert len(found.start) <= (width if team_limit is None else min(width, team_limit))
    allowed = min(6 if task_limit is None else task_limit, 6) + 6
    assert len(found.start) == min(width, allowed, 12 if team_limit is None else team_limit)
    held = [hold for hold in found.held.values() if hold is Hold.BUDGET]
    assert bool(held) == bool(found.refused)


def test_a_task_without_a_budget_goes_on_beside_one_that_is_spent() -> None:
    first, second = uuid4(), uuid4()
    spent = account(tokens=1, spent=Spent(tokens=2))
    graphs = [TaskGraph(task=first, nodes=independent(1)), TaskGraph(task=second, nodes=independent(1))]
    found = select_ready(graphs, IDLE, width=4, purse=Purse(by_task={first: spent}))
    assert [node.id for node in found.start] == [graphs[1].nodes[0].id]
    assert dict(found.held) == {graphs[0].nodes[0].id: Hold.BUDGET}
    assert [(item.account, item.reason) for item in found.refused] == [(spent.key, Overspent.TOKENS)]


def test_only_the_agents_without_a_price_are_held() -> None:
    (node, other), task = independent(2), uuid4()
    purse = Purse(shared=(account(cost_micros=10),), unpriced=frozenset({node.agent}))
    found = select_ready([TaskGraph(task=task, nodes=(node, other))], IDLE, width=4, purse=purse)
    assert found.start == (other,)
    assert [item.reason for item in found.refused] == [Overspent.NO_PRICE]


def test_what_the_width_holds_is_no_budgets_fault() -> None:
    purse = Purse(shared=(account(attempts=5),))
    found = select_ready([TaskGraph(task=uuid4(), nodes=independent(3))], IDLE, width=2, purse=purse)
    assert set(found.held.values()) == {Hold.WIDTH}
    assert not found.refused


def test_attempts_that_begin_together_are_counted_by_account() -> None:
    one = account(attempts=2)
    purse, task = Purse(shared=(one,)), uuid4()
    assert purse.refusal(task, uuid4(), Counter({one.key: 1})) is None
    refused = purse.refusal(task, uuid4(), Counter({one.key: 2}))
    assert refused is not None
    assert refused.reason is Overspent.ATTEMPTS


def test_a_month_begins_in_utc() -> None:
    assert month_of(datetime(2026, 11, 30, 23, 59, tzinfo=UTC)) == datetime(2026, 11, 1, tzinfo=UTC)


# --- prices


def test_a_price_is_per_million_tokens_and_costs_are_rounded_up() -> None:
    prices = price_list('{"small": {"input": "0.25", "cached_input": "0.025", "output": 2}}')
    assert prices["small"].cost_micros(TokenCount(input=1_000_000)) == 250_000
    assert prices["small"].cost_micros(TokenCount(input=1_000_000, cached_input=1_000_000)) == 25_000
    assert prices["small"].cost_micros(TokenCount(output=1_000_000)) == 2_000_000
    assert prices["small"].cost_micros(TokenCount(input=1)) == 1


def test_cached_input_costs_as_much_where_nothing_else_is_said() -> None:
    price = price_list('{"m": {"input": 4, "output": 8}}')["m"]
    assert price.cached_input == Decimal(4)
    assert price.cost_micros(TokenCount(input=10, cached_input=5)) == 40


@given(given_counts=st.dictionaries(st.sampled_from(["input_tokens", "cached_input_tokens", "output_tokens"]), counts))
def test_a_report_of_tokens_is_never_negative_and_cache_is_a_part_of_input(given_counts: dict[str, int]) -> None:
    found = token_count(given_counts)
    assert 0 <= found.cached_input <= found.input
    assert found.total == given_counts.get("input_tokens", 0) + given_counts.get("output_tokens", 0)


def test_a_lying_runtime_reaches_no_columns_end() -> None:
    assert token_count({"input_tokens": 10**30, "output_tokens": -5}).total == 10**12


def test_no_prices() -> None:
    assert price_list(" ") == {}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"m": 3}',
        '{"m": {"input": 1}}',
        '{"m": {"input": 1, "output": 2, "other": 3}}',
        '{"m": {"input": -1, "output": 2}}',
        '{"m": {"input": true, "output": 2}}',
        '{"m": {"input": "NaN", "output": 2}}',
        '{"m": {"input": "much", "output": 2}}',
        '{"m": {"input": 1e99, "output": 2}}',
    ],
)
def test_what_is_no_price_list_is_refused_by_name(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        price_list(text)
    assert "prices" in refused.value.fields
