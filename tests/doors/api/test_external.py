"""Nodes that somebody else's orchestrator runs: the same claims, leases, fences, retries and ends as our own."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from apps.accounts.models import ServiceToken
from apps.conductor.pool import embedded_pool
from apps.conductor.sweep import sweep
from apps.conductor.teams import register_agent
from apps.context.models import ContextSnapshot
from apps.ledger import clock
from apps.ledger.models import Entry
from apps.tasks.models import AgentLease, Attempt, Message, PlanNode, Span, Task, TreeLock
from tests.support.cast import Cast
from tests.support.machines import machine, send, service_token
from tests.support.secrets import github_token

pytestmark = pytest.mark.django_db(transaction=True)


class Orchestrator:
    """Somebody else's program with a service token, and the attempts that it holds."""

    def __init__(self, cast: Cast) -> None:
        self.team = str(cast.team.pk)
        self.client = machine(service_token(cast.owner, cast.organization))

    def submit(self, *nodes: dict[str, Any]) -> str:
        body = {"team": self.team, "prompt": "Build it.", "plan": list(nodes)}
        answer = send(self.client, "POST", "/api/v1/tasks", body)
        assert answer.status_code == 201, answer.content
        return str(answer.json()["id"])

    def lease(self, **more: Any) -> dict[str, Any] | None:
        answer = send(self.client, "POST", "/api/v1/nodes/lease", {"team": self.team, **more})
        assert answer.status_code in (200, 204), answer.content
        return answer.json() if answer.status_code == 200 else None

    def held(self, **more: Any) -> Held:
        lease = self.lease(**more)
        assert lease is not None
        return Held(lease)

    def status(self, task: str) -> str:
        return str(send(self.client, "GET", f"/api/v1/tasks/{task}").json()["status"])


class Held:
    def __init__(self, lease: dict[str, Any]) -> None:
        self.lease = lease
        self.client = machine(lease["token"])

    def post(self, what: str, body: Any = None) -> Any:
        return send(self.client, "POST", reverse(f"api:attempt-{what}", args=[self.lease["attempt"]]), body)

    def complete(self, output: str = "done", **more: Any) -> Any:
        return self.post("complete", {"output": output, **more} if output else more)


@pytest.fixture
def team(committed_cast: Cast) -> Cast:
    """Agents four and five are external."""
    for name in ("Remote", "Distant"):
        register_agent(actor=committed_cast.operator, team=committed_cast.team, name=name, runtime="external")
    return committed_cast


@pytest.fixture
def orchestrator(team: Cast) -> Orchestrator:
    return Orchestrator(team)


def node(agent: int, instruction: str = "do it", *after: int, **more: Any) -> dict[str, Any]:
    return {"agentIndex": agent, "instruction": instruction, "dependsOn": list(after), **more}


def run_out(attempt: str) -> None:
    """As when a minute has gone by without a heartbeat."""
    AgentLease.objects.filter(attempt=attempt).update(expires_at=clock.now() - timedelta(seconds=1))


def test_a_graph_of_theirs_and_ours(orchestrator: Orchestrator) -> None:
    """The middle node is our own worker's; nobody starts the other's nodes."""
    with embedded_pool() as pool:
        task = orchestrator.submit(node(4, "look around"), node(2, "write it", 1), node(5, "check it", 2))
        first = orchestrator.held(wait_s=10)
        assert first.lease["envelope"]["instruction"] == "look around"
        assert "Build it." in first.lease["prompt"]
        snapshot = ContextSnapshot.objects.get(attempt=first.lease["attempt"])
        assert snapshot.rendered == first.lease["prompt"], "what is handed out is what was saved"
        assert orchestrator.lease() is None, "the second is not theirs, the third waits for it"
        assert first.post("heartbeat").json()["cancel_requested"] is False
        assert first.complete("nothing there yet", usage={"input_tokens": 10}).json()["status"] == "completed"
        last = orchestrator.held(wait_s=20)
        assert last.lease["index"] == 3
        assert "nothing there yet" in last.lease["prompt"], "it sees what the first one said"
        last.complete("good")
        assert pool.drain(120)
    assert orchestrator.status(task) == "completed"
    assert [row.usage for row in Attempt.objects.filter(node__index=1)] == [{"input_tokens": 10}]
    assert Entry.objects.filter(type="task.attempt.started").count() == 3
    assert not AgentLease.objects.exists()
    assert not TreeLock.objects.exists()


def test_our_own_workers_leave_their_nodes_alone(orchestrator: Orchestrator) -> None:
    with embedded_pool() as pool:
        orchestrator.submit(node(4))
        assert pool.drain(120)
    assert set(PlanNode.objects.values_list("status", flat=True)) == {"queued"}
    assert not Attempt.objects.exists()


def test_a_lost_orchestrator_costs_one_attempt(orchestrator: Orchestrator) -> None:
    task = orchestrator.submit(node(4))
    lost = orchestrator.held()
    run_out(lost.lease["attempt"])
    sweep()
    assert Attempt.objects.get().status == "interrupted"
    again = orchestrator.held()
    assert again.lease["number"] == 2
    assert lost.complete("too late").status_code == 401, "its token died with the attempt"
    assert again.complete("in time").status_code == 200
    assert [message.text for message in Message.objects.filter(attempt__isnull=False)] == ["in time"]
    assert orchestrator.status(task) == "completed"


def test_lost_twice_ends_the_node(orchestrator: Orchestrator) -> None:
    task = orchestrator.submit(node(4))
    for _ in range(2):
        run_out(orchestrator.held().lease["attempt"])
        sweep()
    assert orchestrator.lease() is None
    assert orchestrator.status(task) == "failed"
    assert set(Attempt.objects.values_list("error", flat=True)) == {"interrupted"}


def test_a_heartbeat_keeps_the_lease(orchestrator: Orchestrator) -> None:
    orchestrator.submit(node(4))
    held = orchestrator.held()
    AgentLease.objects.update(expires_at=clock.now() + timedelta(seconds=2))
    held.post("heartbeat")
    assert AgentLease.objects.get().expires_at > clock.now() + timedelta(seconds=30)


def test_what_comes_between_expiry_and_sweep_is_still_taken_once(orchestrator: Orchestrator) -> None:
    """The lease is over, nobody has noticed: the end counts, and the sweep finds nothing to end."""
    task = orchestrator.submit(node(4))
    held = orchestrator.held()
    run_out(held.lease["attempt"])
    assert held.complete().status_code == 200
    sweep()
    assert orchestrator.status(task) == "completed"
    assert Attempt.objects.get().status == "completed"


def test_cancelling_reaches_them_with_the_next_heartbeat(orchestrator: Orchestrator) -> None:
    task = orchestrator.submit(node(4))
    held = orchestrator.held()
    send(orchestrator.client, "POST", f"/api/v1/tasks/{task}/cancel")
    assert held.post("heartbeat").json()["cancel_requested"] is True
    assert orchestrator.status(task) == "running", "leases and locks stay until it says that it has stopped"
    assert held.complete("", error="cancelled").json()["status"] == "cancelled"
    assert orchestrator.status(task) == "cancelled"


def test_spans_are_stored_redacted_and_may_be_sent_twice(orchestrator: Orchestrator) -> None:
    orchestrator.submit(node(4))
    held = orchestrator.held()
    secret = github_token()
    batch = {
        "spans": [
            {"seq": 1, "kind": "command", "text": f"curl -H 'Authorization: {secret}'", "data": {"exit": 0}},
            {"seq": 2, "kind": "agent_message", "text": "started", "status": "started"},
        ]
    }
    for _ in range(2):
        assert held.post("span-batch", batch).json() == {"stored": 2}
    held.post("span-batch", {"spans": [{"seq": 2, "kind": "agent_message", "text": "finished"}]})
    twice = [{"seq": 3, "kind": "command", "text": text} for text in ("begun", "ended")]
    assert held.post("span-batch", {"spans": twice}).status_code == 200, "one number twice in a batch"
    assert Span.objects.get(seq=3).text == "ended"
    Span.objects.filter(seq=3).delete()
    rows = list(Span.objects.order_by("seq").values_list("seq", "text", "status"))
    assert [(seq, status) for seq, _, status in rows] == [(1, "completed"), (2, "completed")]
    assert rows[1][1] == "finished"
    assert secret not in rows[0][1]
    held.complete(f"the token is {secret}")
    assert secret not in Attempt.objects.get().output
    spans = send(orchestrator.client, "GET", f"/api/v1/attempts/{held.lease['attempt']}/spans").json()["items"]
    assert [span["seq"] for span in spans] == [1, 2]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"spans": [{"seq": 0, "kind": "command", "text": ""}]}, "spans.0.seq"),
        ({"spans": [{"seq": 1, "kind": "thought", "text": ""}]}, "spans.0.kind"),
        ({"spans": [{"seq": 1, "kind": "command", "text": "\x00"}]}, "spans.0.text"),
        ({"spans": [{"seq": 1, "kind": "command", "text": "", "data": {"a": "\ud800"}}]}, "spans.0.data"),
        ({"spans": [{"seq": i, "kind": "command", "text": ""} for i in range(1, 1_002)]}, "spans"),
    ],
)
def test_a_bad_batch_is_refused_whole(body: Any, field: str, orchestrator: Orchestrator) -> None:
    orchestrator.submit(node(4))
    answer = orchestrator.held().post("span-batch", body)
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert not Span.objects.exists()


@pytest.mark.parametrize(
    ("ending", "status", "error", "again"),
    [
        ({"error": "exit_nonzero", "detail": "exit code 2"}, "failed", "exit_nonzero", True),
        ({"error": "bad_answer"}, "failed", "bad_answer", False),
        ({"output": "   "}, "failed", "no_answer", False),
    ],
)
def test_ends_are_judged_as_our_own(
    ending: dict[str, Any], status: str, error: str, again: bool, orchestrator: Orchestrator
) -> None:
    orchestrator.submit(node(4))
    answer = orchestrator.held().post("complete", ending)
    assert answer.json()["status"] == status
    assert Attempt.objects.get().error == error
    assert (orchestrator.lease() is not None) is again


def test_a_token_is_good_for_its_own_attempt_alone(orchestrator: Orchestrator) -> None:
    orchestrator.submit(node(4), node(5))
    one, two = orchestrator.held(), orchestrator.held()
    address = reverse("api:attempt-complete", args=[two.lease["attempt"]])
    assert send(one.client, "POST", address, {"output": "x"}).status_code == 404
    assert send(orchestrator.client, "POST", address, {"output": "x"}).status_code == 404, "nor a service token"
    assert send(one.client, "GET", f"/api/v1/attempts/{one.lease['attempt']}").status_code == 404
    refused = Entry.objects.filter(type="access.denied", subject_id=two.lease["attempt"])
    assert sorted(refused.values_list("actor_id", flat=True)) == sorted(
        [one.lease["agent"], str(ServiceToken.objects.get(kind="service").pk)]
    ), "of an organization of their own, so it is an entry"
    assert Attempt.objects.filter(status="running").count() == 2


def test_tokens_of_attempts_are_not_kept(orchestrator: Orchestrator) -> None:
    orchestrator.submit(node(4))
    orchestrator.held().complete()
    assert ServiceToken.objects.filter(kind="attempt").count() == 1
    ServiceToken.objects.filter(kind="attempt").update(expires_at=clock.now() - timedelta(seconds=1))
    sweep()
    assert not ServiceToken.objects.filter(kind="attempt").exists()


def test_racing_orchestrators_get_each_node_once(orchestrator: Orchestrator, team: Cast) -> None:
    orchestrator.submit(node(4), node(5))
    leases: list[Any] = []
    gate = threading.Barrier(6)

    def ask() -> None:
        try:
            gate.wait(60)
            leases.append(Orchestrator.lease(orchestrator))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    got = [lease for lease in leases if lease is not None]
    assert len(leases) == 6
    assert sorted(lease["index"] for lease in got) == [1, 2]
    assert Attempt.objects.count() == 2


def test_whoever_waits_gets_what_becomes_ready(orchestrator: Orchestrator) -> None:
    orchestrator.submit(node(4), node(5, "second", 1))
    first = orchestrator.held()
    got: list[Any] = []

    def wait() -> None:
        try:
            got.append(orchestrator.lease(wait_s=20))
        finally:
            connections.close_all()

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.6)
    assert not got
    first.complete()
    waiting.join(120)
    assert got
    assert got[0]["index"] == 2


def test_only_nodes_of_the_agents_that_are_named(orchestrator: Orchestrator, team: Cast) -> None:
    orchestrator.submit(node(4), node(5))
    distant = team.team.agents.get(name="Distant")
    assert orchestrator.held(agents=[str(distant.pk)]).lease["agent"] == str(distant.pk)
    assert orchestrator.lease(agents=[str(distant.pk)]) is None
    own = team.agents["backend"]
    assert orchestrator.lease(agents=[str(own.pk)]) is None, "an agent of ours is never leased"


def test_a_paused_team_hands_out_nothing(orchestrator: Orchestrator, team: Cast) -> None:
    orchestrator.submit(node(4))
    address = f"/api/v1/teams/{team.team.pk}"
    assert send(orchestrator.client, "POST", f"{address}/pause").json()["paused_at"]
    assert orchestrator.lease() is None
    send(orchestrator.client, "POST", f"{address}/resume")
    assert orchestrator.lease() is not None


def test_a_budget_holds_for_them_too(orchestrator: Orchestrator) -> None:
    body = {"team": orchestrator.team, "prompt": "Build it.", "plan": [node(4), node(5, "x", 1)], "attempts_max": 1}
    assert send(orchestrator.client, "POST", "/api/v1/tasks", body).status_code == 201
    orchestrator.held().complete()
    assert orchestrator.lease() is None
    assert Entry.objects.filter(type="budget.exhausted").count() == 1


def test_one_node_is_tried_again(orchestrator: Orchestrator) -> None:
    """The other failed node stays as it is."""
    task = orchestrator.submit(node(4), node(5))
    for _ in range(2):
        orchestrator.held().complete("", error="bad_answer")
    assert orchestrator.status(task) == "failed"
    failed = PlanNode.objects.get(index=1)
    answer = send(orchestrator.client, "POST", f"/api/v1/nodes/{failed.pk}/retry")
    assert (answer.status_code, answer.json()["status"]) == (200, "queued")
    orchestrator.held().complete("now it is")
    assert orchestrator.status(task) == "partial"
    assert list(PlanNode.objects.order_by("index").values_list("status", flat=True)) == ["completed", "failed"]
    assert Task.objects.get().settled_at is not None


def test_a_program_of_the_machine_is_not_set_up_from_afar(orchestrator: Orchestrator, team: Cast) -> None:
    address = f"/api/v1/teams/{team.team.pk}/agents"
    for body in ({"name": "Shell", "runtime": "process"}, {"name": "Shell", "command": ["sh", "-c", "true"]}):
        assert send(orchestrator.client, "POST", address, body).status_code == 400
    client: Client = orchestrator.client
    made = send(client, "POST", address, {"name": "Far away"})
    assert (made.status_code, made.json()["runtime"]) == (201, "external")
