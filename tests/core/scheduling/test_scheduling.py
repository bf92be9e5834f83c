"""Locks, the ready set, the failed-ancestor rule, retries."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.policy import DEFAULT
from tikitaka.scheduling.graph import NodeState, NodeStatus, ancestors, blocked, failed_ancestor, settled_status
from tikitaka.scheduling.locks import conflict, lock_prefix, lock_prefixes
from tikitaka.scheduling.ready import Busy, Hold, TaskGraph, select_ready
from tikitaka.scheduling.retry import retry

AGENTS = [uuid4() for _ in range(4)]
FREE = Busy(running=0, agents=frozenset(), prefixes=())


def state(index: int, agent: int = 0, *, after=(), status="queued", prefixes=(), attempts=0) -> NodeState:
    return NodeState(
        id=UUID(int=index),
        index=index,
        agent=AGENTS[agent],
        status=NodeStatus(status),
        depends_on=tuple(after),
        prefixes=tuple(prefixes),
        attempts=attempts,
    )


def started(nodes, busy=FREE, width=4, paused=False) -> list[int]:
    graph = TaskGraph(task=uuid4(), nodes=tuple(nodes))
    return [node.index for node in select_ready([graph], busy, width=width, paused=paused).start]


paths = st.lists(st.sampled_from(["code", "apps", "server", "web", "a", "ab"]), max_size=4).map("/".join)
globs = paths.map(lambda path: f"{path}/**" if path else "**")


class TestLocks:
    @given(st.lists(globs, max_size=3), st.lists(globs, max_size=3))
    def test_conflict_is_symmetric(self, left, right) -> None:
        a, b = lock_prefixes(left), lock_prefixes(right)
        assert conflict(a, b) == conflict(b, a)

    @given(globs)
    def test_a_lock_conflicts_with_itself(self, glob) -> None:
        assert conflict(lock_prefixes([glob]), lock_prefixes([glob]))

    @pytest.mark.parametrize(
        ("left", "right", "expected"),
        [
            ("code/**", "code/apps/server/**", True),
            ("code/apps/server/**", "code/**", True),
            ("code/apps/server/**", "code/apps/web/**", False),
            ("code/app/**", "code/apps/**", False),
            ("**", "code/apps/**", True),
            ("code/*.py", "code/apps/**", True),
        ],
    )
    def test_containment_in_either_direction(self, left: str, right: str, expected: bool) -> None:
        assert conflict(lock_prefixes([left]), lock_prefixes([right])) is expected

    def test_reading_conflicts_with_nothing(self) -> None:
        assert not conflict((), ("",))

    def test_prefix_of_a_glob(self) -> None:
        assert lock_prefix("code/apps/**/x.py") == "code/apps"
        assert lock_prefixes(["code/**", "code/apps/**"]) == ("code",)


class TestReadySet:
    def test_a_node_waits_for_its_own_dependencies_only(self) -> None:
        nodes = [
            state(1, status="completed"),
            state(2, 1, status="running"),
            state(3, 2, after=(1,)),
            state(4, 3, after=(2,)),
        ]
        assert started(nodes, Busy(running=1, agents=frozenset([AGENTS[1]]), prefixes=())) == [3]

    def test_one_agent_has_one_lease(self) -> None:
        assert started([state(1), state(2), state(3, 1)]) == [1, 3]
        assert started([state(1)], Busy(running=1, agents=frozenset([AGENTS[0]]), prefixes=())) == []

    def test_overlapping_locks_exclude_each_other(self) -> None:
        nodes = [state(1, 0, prefixes=["code"]), state(2, 1, prefixes=["code/apps"]), state(3, 2)]
        assert started(nodes) == [1, 3]

    def test_width(self) -> None:
        assert started([state(n + 1, n) for n in range(4)], width=2) == [1, 2]

    def test_older_tasks_come_first_and_share_everything(self) -> None:
        older, newer = (state(1, 0),), (replace(state(1, 0), id=UUID(int=7)), state(2, 1))
        found = select_ready([TaskGraph(task=uuid4(), nodes=nodes) for nodes in (older, newer)], FREE, width=4)
        assert [node.id for node in found.start] == [UUID(int=1), UUID(int=2)]
        assert found.held == {UUID(int=7): Hold.AGENT_BUSY}

    def test_paused_starts_nothing_and_says_so(self) -> None:
        graph = TaskGraph(task=uuid4(), nodes=(state(1), state(2, 1, after=(1,))))
        found = select_ready([graph], FREE, width=4, paused=True)
        assert found.start == ()
        assert found.held == {UUID(int=1): Hold.PAUSED, UUID(int=2): Hold.DEPENDENCY}


class TestFailedAncestor:
    def test_transitive_and_nearest(self) -> None:
        nodes = {
            n.index: n
            for n in [state(1, status="failed"), state(2, after=(1,), status="cancelled"), state(3, after=(2,))]
        }
        assert failed_ancestor(3, nodes) == 1
        assert ancestors(3, nodes) == (1, 2)

    def test_an_unrelated_failure_blocks_nobody(self) -> None:
        nodes = [state(1, status="failed"), state(2, status="completed"), state(3, after=(2,)), state(4, after=(1,))]
        assert blocked(nodes) == {UUID(int=4): UUID(int=1)}

    @pytest.mark.parametrize(
        ("statuses", "expected"),
        [
            (["completed", "completed"], "completed"),
            (["completed", "failed"], "partial"),
            (["failed", "cancelled"], "failed"),
            (["completed", "running"], None),
            (["queued"], None),
        ],
    )
    def test_how_a_task_settles(self, statuses, expected) -> None:
        assert settled_status([NodeStatus(s) for s in statuses]) == expected


class TestRetry:
    @pytest.mark.parametrize("error", ["timed_out", "connection_reset", "exit_nonzero", "agent_busy", "interrupted"])
    def test_tried_once_more_and_no_more(self, error) -> None:
        assert retry(error, attempts=1, policy=DEFAULT)
        assert not retry(error, attempts=2, policy=DEFAULT)

    @pytest.mark.parametrize("error", ["no_answer", "bad_answer", "output_overflow", "missing_program", "cancelled"])
    def test_never_tried_again(self, error) -> None:
        assert not retry(error, attempts=1, policy=DEFAULT)
