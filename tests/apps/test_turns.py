"""A team's turn: ends are written and attempts begin as if one had come after the other, having looked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.conductor.preparation import Inquiry, inquire
from apps.conductor.story import cancel, submit
from apps.conductor.teams import pause_team
from apps.ledger.selectors import entries, logs, verify_log
from apps.ledger.services import recording
from apps.tasks.models import AgentLease, Attempt, Message, PlanNode, Task, TreeLock
from apps.tasks.services.claim import Claimed, claim_ready
from apps.tasks.services.finish import Ended, Finished, finish_attempts
from apps.tasks.services.turn import take_turn
from apps.teams.services.teams import create_team
from tests.support.cast import Cast, add_agent
from tests.support.plans import node
from tikitaka.ports import ErrorKind, RunEnd

pytestmark = pytest.mark.django_db(transaction=True)
POLICY = settings.TIKITAKA_POLICY
Outcome = Callable[[int], ErrorKind | None]
PLAN = [
    node(1, area="docs"),
    node(2, area="backend"),
    node(3, area="frontend"),
    node(1, after=(1,), area="docs"),
    node(2, after=(2, 3), area="backend"),
    node(3, after=(4,), area="frontend"),
]


def begin(cast: Cast, plan: Sequence[dict[str, Any]] = PLAN) -> Task:
    return submit(actor=cast.operator, team=cast.team, prompt="x", plan=list(plan)).task


def claim(cast: Cast, limit: int | None = None) -> list[Claimed]:
    return claim_ready(team=cast.team.pk, organization=cast.organization.pk, policy=POLICY, limit=limit)


def ended(claimed: Claimed, error: ErrorKind | None = None) -> Ended:
    return Ended(claimed=claimed, end=RunEnd(answer=None if error else "done", error=error))


def turn(cast: Cast, ends: Sequence[Ended], room: int = 8) -> tuple[Finished | None, list[Claimed]]:
    return take_turn(organization=cast.organization.pk, team=cast.team.pk, ends=ends, room=room, policy=POLICY)


def apart(cast: Cast, ends: Sequence[Ended], room: int = 8) -> tuple[Finished | None, list[Claimed]]:
    """What a turn does, one after the other."""
    finished = None
    if ends:
        finished = finish_attempts(organization=cast.organization.pk, team=cast.team.pk, ends=ends, policy=POLICY)
    return finished, claim(cast, room)


def everything(cast: Cast) -> dict[str, Any]:
    """All that scheduling wrote for the team, by what people would call it instead of by ids."""
    tasks = list(Task.objects.filter(team=cast.team).order_by("first_seq"))
    rows = PlanNode.objects.filter(task__in=tasks)
    nodes = {row.pk: (row.task.first_seq, row.index) for row in rows.select_related("task")}
    attempts = Attempt.objects.filter(task__in=tasks).order_by("fence")
    leases, locks = AgentLease.objects.filter(team=cast.team), TreeLock.objects.filter(team=cast.team)
    said = Message.objects.filter(team=cast.team).order_by("seq")
    return {
        "tasks": [(task.status, bool(task.settled_at)) for task in tasks],
        "nodes": sorted((nodes[n.pk], n.status, n.attempts, str(nodes.get(n.blocked_by_id))) for n in rows),
        "finished": sorted(nodes[n.pk] for n in rows if n.finished_at),
        "attempts": [(nodes[a.node_id], a.number, a.status, a.fence, a.error, a.output) for a in attempts],
        "leases": sorted((nodes[row.attempt.node_id], row.fence) for row in leases),
        "locks": sorted((nodes[row.attempt.node_id], row.prefix) for row in locks),
        "said": [(message.seq, message.author_kind, nodes.get(message.node_id), message.text) for message in said],
        "told": sorted(entries(cast.organization.pk, team=cast.team.pk).values_list("type", flat=True)),
    }


def twin(cast: Cast) -> Cast:
    """Another team of the same kind, for which nothing has happened yet."""
    team = create_team(actor=cast.operator, organization=cast.organization, name="Twin", width=cast.team.width)
    return replace(cast, team=team, agents={name: add_agent(cast.operator, team, name) for name in cast.agents})


def play(cast: Cast, step: Callable[..., Any], outcome: Outcome, *, tasks: int, cancelled: bool = False) -> Any:
    """The tasks of a team to their end, step by step; with `cancelled` the newest is cancelled after the first step."""
    running = [begin(cast) for _ in range(tasks)]
    _, claimed = step(cast, [])
    for _ in range(40):
        if not claimed:
            break
        if cancelled:
            running[-1].refresh_from_db()
            cancel(actor=cast.operator, task=running[-1])
            cancelled = False
        _, claimed = step(cast, [ended(item, outcome(item.fence)) for item in claimed])
    return everything(cast)


OUTCOMES: dict[str, Outcome] = {
    "all goes well": lambda _: None,
    "some are tried again": lambda fence: "timed_out" if fence % 2 else None,
    "some fail for good": lambda fence: "missing_program" if fence % 3 == 1 else None,
    "nothing works": lambda _: "timed_out",
}


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("cancelled", [False, True], ids=["to the end", "cancelled"])
@pytest.mark.parametrize("name", OUTCOMES)
def test_a_turn_is_an_end_and_then_a_claim(committed_cast: Cast, name: str, cancelled: bool, tasks: int) -> None:
    other = twin(committed_cast)
    together = play(committed_cast, turn, OUTCOMES[name], tasks=tasks, cancelled=cancelled)
    assert all(settled for _, settled in together["tasks"])
    assert together["leases"] == together["locks"] == []
    assert play(other, apart, OUTCOMES[name], tasks=tasks, cancelled=cancelled) == together
    assert verify_log(logs(committed_cast.organization.pk).get()).valid


def test_without_room_ends_are_written_and_nothing_begins(committed_cast: Cast) -> None:
    begin(committed_cast)
    first = claim(committed_cast)
    finished, claimed = turn(committed_cast, [ended(item) for item in first], room=0)
    assert finished is not None
    assert claimed == []
    assert PlanNode.objects.filter(status="completed").count() == len(first)
    assert turn(committed_cast, [], room=0) == (None, [])


def test_a_team_that_was_paused_meanwhile_ends_and_begins_nothing(committed_cast: Cast) -> None:
    begin(committed_cast)
    first = claim(committed_cast)
    pause_team(actor=committed_cast.operator, team=committed_cast.team, paused=True)
    _, claimed = turn(committed_cast, [ended(item) for item in first])
    assert claimed == []
    assert PlanNode.objects.filter(status="completed").count() == len(first)


def test_an_end_that_came_too_late_frees_nothing(committed_cast: Cast) -> None:
    begin(committed_cast, [node(1), node(1, after=(1,))])
    (only,) = claim(committed_cast)
    turn(committed_cast, [ended(only)])
    finished, claimed = turn(committed_cast, [ended(only)])
    assert finished is not None
    assert finished.stale == (only.attempt,)
    assert claimed == []
    assert AgentLease.objects.count() == 1, "that of the second node, which runs since the first end"


def test_a_turn_costs_the_same_however_many_nodes_it_ends_and_begins(committed_cast: Cast) -> None:
    counts = []
    for width in (1, 3):
        nodes = [node(n, area=area) for n, area in zip((1, 2, 3), ("docs", "backend", "frontend"), strict=True)]
        first = nodes[:width]
        second = [{**step, "dependsOn": [place]} for place, step in enumerate(first, 1)]
        begin(committed_cast, [*first, *second])
        claimed = claim(committed_cast)
        assert len(claimed) == width
        with CaptureQueriesContext(connection) as found:
            _, began = turn(committed_cast, [ended(item) for item in claimed])
        assert len(began) == width
        counts.append(len(found))
        turn(committed_cast, [ended(item) for item in began])
    assert counts[0] == counts[1]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is asked one by one: it is no way away")
def test_a_turn_and_what_preparing_needs_are_three_messages(committed_cast: Cast) -> None:
    begin(committed_cast, [node(1), node(1, after=(1,))])
    claimed = claim(committed_cast)
    with CaptureQueriesContext(connection) as found:
        inquiry = inquired(committed_cast, [ended(item) for item in claimed])
    texts = [query["sql"] for query in found if query["sql"] not in ("BEGIN", "COMMIT")]
    assert len(texts) == 3
    assert texts[2].index("COMMIT") < texts[2].index("FROM tasks_plannode n JOIN tasks_task t")
    with CaptureQueriesContext(connection) as asked:
        assert [order.index for order in inquiry.orders.answer()] == [2]
    assert len(asked) == 0, "it was answered with the commit"


def test_what_is_asked_behind_a_transaction_sees_what_it_wrote(committed_cast: Cast) -> None:
    begin(committed_cast)
    claimed = claim(committed_cast, 1)
    inquiry = inquired(committed_cast, [ended(item) for item in claimed])
    held = {(item.attempt, item.fence) for item in inquiry.claimed}
    assert inquiry.held.answer() == held
    statuses = {state.index: state.status.value for state in inquiry.graphs.answer()[claimed[0].task]}
    assert statuses == {1: "completed", 2: "running", 3: "running", 4: "running", 5: "queued", 6: "queued"}


def inquired(cast: Cast, ends: Sequence[Ended]) -> Inquiry:
    """A turn as a runner takes it."""
    with recording(cast.organization.pk) as ledger:
        _, claimed = turn(cast, ends)
        inquiry = inquire(claimed)
        assert inquiry is not None
        ledger.ask_behind(*inquiry.questions())
    return inquiry
