"""Plans: every rejection, the order, the fallback, and what the planner is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import node
from tikitaka.errors import Invalid
from tikitaka.evaluation.registry import EVALUATORS
from tikitaka.planning.areas import DEFAULT_AREAS, globs_for, validate_areas
from tikitaka.planning.fallback import sequential_plan
from tikitaka.planning.order import topological_order
from tikitaka.planning.plan import Accepted, PlanFault, Rejected, parse_plan, validate_plan
from tikitaka.planning.prompt import RosterEntry, plan_request
from tikitaka.policy import DEFAULT

CASES = Path(__file__).parents[2] / "cases" / "model_replies.jsonl"
AREAS = list(DEFAULT_AREAS)


def test_every_recorded_reply_gives_exactly_what_is_expected() -> None:
    kind = EVALUATORS["replies"]
    cases = kind.parse(CASES.read_text(encoding="utf-8").splitlines())
    rows = kind.decide(cases, {})
    wrong = [case.id for case, row in zip(cases, rows, strict=True) if case.expect != row["result"]]
    assert wrong == []
    assert kind.metrics(cases, rows)["exact_share"] == 1.0


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_no_byte_string_crashes_a_parser(content) -> None:
    text = content.decode("utf-8", "surrogateescape") if isinstance(content, bytes) else content
    body = {"status": 200, "finish_reason": "stop", "message": {"content": text}}
    assert parse_plan(body, agents=3, areas=AREAS, policy=DEFAULT)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
)


@given(json_values)
def test_no_json_value_crashes_validation(value) -> None:
    assert validate_plan(value, agents=3, areas=AREAS, policy=DEFAULT)
    assert validate_plan([value], agents=3, areas=AREAS, policy=DEFAULT)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([], PlanFault.NODE_COUNT),
        ([node(1)] * 9, PlanFault.NODE_COUNT),
        ([node(4)], PlanFault.UNKNOWN_AGENT),
        ([node(0)], PlanFault.UNKNOWN_AGENT),
        ([node(1, "\u200b \ufe0f")], PlanFault.EMPTY_INSTRUCTION),
        ([node(1, after=(2,))], PlanFault.INVALID_DEPENDENCY),
        ([node(1, after=(1,))], PlanFault.SELF_DEPENDENCY),
        ([node(1), node(2, after=(1, 1))], PlanFault.DUPLICATE_DEPENDENCY),
        ([node(1, after=(3,)), node(2, after=(1,)), node(3, after=(2,))], PlanFault.CYCLE),
        ("nodes", PlanFault.SCHEMA),
        (["node"], PlanFault.SCHEMA),
    ],
)
def test_a_bad_plan_is_rejected_whole_with_its_reason(nodes, reason: PlanFault) -> None:
    assert validate_plan(nodes, agents=3, areas=AREAS, policy=DEFAULT) == Rejected(reason=reason)


@pytest.mark.parametrize("area", ["../../etc", "**", "code/**", "Backend ", None, 7])
def test_a_model_never_chooses_a_path(area) -> None:
    plan = validate_plan([node(1, area=area)], agents=3, areas=AREAS, policy=DEFAULT)
    assert isinstance(plan, Accepted)
    assert plan.nodes[0].work_area in ("general", "backend")


graphs = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(1, n), max_size=3, unique=True), min_size=n, max_size=n)
)


@given(graphs)
def test_order_puts_every_node_after_its_dependencies_or_names_a_cycle(graph) -> None:
    order = topological_order(graph)
    if order is None:
        assert has_cycle(graph)
        return
    place = {number: index for index, number in enumerate(order)}
    assert sorted(order) == list(range(1, len(graph) + 1))
    assert all(place[parent] < place[number] for number in place for parent in graph[number - 1])


def test_ties_go_by_the_planners_own_order() -> None:
    assert topological_order([[], [], [1, 2], []]) == [1, 2, 3, 4]
    assert topological_order([[3], [], []]) == [2, 3, 1]


def has_cycle(graph) -> bool:
    left = {number: set(parents) for number, parents in enumerate(graph, start=1)}
    while free := [number for number, parents in left.items() if not parents]:
        for number in free:
            del left[number]
        for parents in left.values():
            parents -= set(free)
    return bool(left)


class TestFallback:
    def test_one_node_for_each_agent_strictly_in_a_row(self) -> None:
        plan = sequential_plan("Do it", ["a", "b", "c"], policy=DEFAULT)
        assert [(n.agent, n.depends_on) for n in plan.nodes] == [(1, ()), (2, (1,)), (3, (2,))]
        assert all(n.writes and n.work_area == "general" for n in plan.nodes)

    def test_never_more_nodes_than_a_plan_may_have(self) -> None:
        assert len(sequential_plan("x", [str(n) for n in range(12)], policy=DEFAULT).nodes) == 8


class TestRequest:
    roster = [RosterEntry(name="Ada", description="server"), RosterEntry(name="Ben", description="web")]

    def ask(self, description: str) -> str:
        return plan_request(
            prompt="Build", team_description=description, roster=self.roster, areas=AREAS, policy=DEFAULT
        ).user

    def test_the_team_description_stands_above_the_task(self) -> None:
        text = self.ask("We sell boats")
        assert text.index("# Team context") < text.index("We sell boats") < text.index("# Task")

    def test_without_a_description_there_is_no_heading(self) -> None:
        assert "# Team context" not in self.ask("  ")

    def test_agents_are_numbers(self) -> None:
        assert "1. Ada: server\n2. Ben: web" in self.ask("")


class TestAreas:
    def test_reading_locks_nothing_and_unknown_takes_the_general_lock(self) -> None:
        assert globs_for("backend", writes=False, areas=DEFAULT_AREAS) == ()
        assert globs_for("nowhere", writes=True, areas=DEFAULT_AREAS) == ("code/**",)

    @pytest.mark.parametrize("glob", ["/etc/**", "code/../x/**", "other/**", "code//x", "code\\x"])
    def test_a_path_outside_the_tree_is_refused(self, glob: str) -> None:
        with pytest.raises(Invalid, match="work_areas"):
            validate_areas({"general": ["code/**"], "x": [glob]})


def test_cases_are_the_form_that_the_command_reads() -> None:
    assert all(json.loads(line)["kind"] in ("planner", "extractor") for line in CASES.read_text().splitlines())
