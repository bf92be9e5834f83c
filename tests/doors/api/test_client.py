"""The client and the door do not drift apart: every operation of the description, and the door itself."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from dataclasses import fields
from datetime import timedelta
from typing import Any, get_type_hints
from uuid import UUID, uuid4

import pytest
from drf_spectacular.generators import SchemaGenerator

from apps.accounts.models import ServiceToken
from apps.conductor.sweep import sweep
from apps.conductor.teams import register_agent
from apps.ledger import clock
from apps.tasks.models import AgentLease, Attempt, Span, Task
from tests.doors.conftest import Stage
from tests.support.cast import Cast
from tests.support.machines import service_token
from tests.support.processes import serving
from tikitaka.client import AsyncClient, Client, Conflict, Forbidden, Job, NotFound, Refused, work, work_async
from tikitaka.client.calls import KEY, Call, Reply
from tikitaka.client.door import Door, Events, Lines, Listing, Operation
from tikitaka.client.records import external, memory, webhooks
from tikitaka.client.records import work as working

OPERATIONS = {
    name: found for name, found in vars(Door).items() if isinstance(found, Operation | Listing | Events | Lines)
}
RECORDS = {
    name: record
    for module in (working, external, memory, webhooks)
    for name, record in vars(module).items()
    if inspect.isclass(record) and record.__module__ == module.__name__
}
# What the description calls an answer, where the client's name is another.
SHAPES = {"Stored": "StoredShape", "NewToken": "NewTokenShape", "NewWebhook": "NewWebhookShape"}
# Asked by the program for other machines, with the token of an agent: tikitaka.sync.
OF_SYNC = {"get_workspace", "report_workspace"}
# What the door takes twice without a key: by attempt, by number, by source.
REPEATABLE = ("heartbeat", "append_spans", "complete_attempt", "import_recording")


@pytest.fixture(scope="module")
def schema() -> Any:
    return SchemaGenerator().get_schema(request=None, public=True)


def described(schema: Any) -> dict[str, tuple[str, str, Any]]:
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }


def example(kind: Any) -> Any:
    """A value for an argument of an operation, so that nothing is left out of its call."""
    text = str(kind)
    if "bool" in text:
        return True
    if "int" in text and "Mapping" not in text:
        return 1
    if "Mapping" in text:
        return [{"a": 1}] if "Sequence" in text and "Sequence[str]" not in text else {"a": 1}
    if "Collection" in text:
        return [str(UUID(int=1))]
    return str(UUID(int=1))


def call_of(name: str) -> Call[Any]:
    describe = OPERATIONS[name].describe
    hints = get_type_hints(describe)
    return describe(**{argument: example(hints[argument]) for argument in inspect.signature(describe).parameters})


def resolved(schema: Any, part: Any) -> Any:
    return schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part


def test_every_operation_is_there_once(schema: Any) -> None:
    assert sorted(OPERATIONS) == sorted(set(described(schema)) - OF_SYNC)
    assert {name: call_of(name).operation for name in OPERATIONS} == {name: name for name in OPERATIONS}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_it_asks_as_it_is_described(name: str, schema: Any) -> None:
    method, path, operation = described(schema)[name]
    call = call_of(name)
    assert (call.method, call.path) == (method, path)
    assert set(call.places) == set(re.findall(r"{(\w+)}", path))

    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    assert set(call.body or {}) == set(resolved(schema, body).get("properties", {}))
    parameters = {(row["in"], row["name"]) for row in operation.get("parameters", [])}
    assert {("query", word) for word in call.query} == {row for row in parameters if row[0] == "query"}
    headers = {("header", word) for word in call.headers if word != "Accept"}
    assert headers == {row for row in parameters if row[0] == "header"}
    assert isinstance(OPERATIONS[name], Listing) == (("query", "cursor") in parameters)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_only_what_may_be_repeated_is(name: str, schema: Any) -> None:
    """Looking, replacing, what goes under a key, and three calls about an attempt that the door takes twice."""
    method, _, operation = described(schema)[name]
    keyed = any(row["name"] == KEY for row in operation.get("parameters", []))
    safe = method in ("GET", "PUT") or keyed or name in REPEATABLE
    assert call_of(name).repeat == safe


@pytest.mark.parametrize("record", sorted(set(RECORDS) - {"Event"}))
def test_a_record_is_the_answer_that_is_described(record: str, schema: Any) -> None:
    shapes = schema["components"]["schemas"]
    shape = next(shapes[name] for name in (SHAPES.get(record), record, f"{record}Shape") if name in shapes)
    assert {field.name for field in fields(RECORDS[record])} == set(shape["properties"])
    hints = get_type_hints(RECORDS[record])
    for name, part in shape["properties"].items():
        nullable = part.get("nullable") or any(option.get("nullable") for option in part.get("oneOf", []))
        assert (type(None) in getattr(hints[name], "__args__", ())) == bool(nullable), name


# --- against the door itself


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def remote(committed_cast: Cast) -> Cast:
    """Agents four and five are external."""
    for name in ("Remote", "Distant"):
        register_agent(actor=committed_cast.operator, team=committed_cast.team, name=name, runtime="external")
    return committed_cast


def plan(*agents: int) -> list[dict[str, Any]]:
    return [
        {"agentIndex": agent, "instruction": f"part {place}", "dependsOn": [place - 1] if place > 1 else []}
        for place, agent in enumerate(agents, start=1)
    ]


def test_everything_that_can_be_looked_at_is_understood(committed_stage: Stage) -> None:
    """Every list and every single thing, of a team in which there is one of each."""
    stage, cast = committed_stage, committed_stage.cast
    attempt, task = stage.rows["tasks.attempt"].pk, stage.rows["tasks.task"].pk
    with serving() as address, Client(address, service_token(cast.owner, cast.organization)) as client:
        (organization,) = client.list_organizations()
        assert client.get_organization(organization.id) == organization
        lists = {
            "team": (client.list_teams(), client.get_team),
            "agent": (client.list_agents(team=cast.team.pk), client.get_agent),
            "task": (client.list_tasks(limit=1), client.get_task),
            "segment": (client.list_segments(), client.get_segment),
            "incident": (client.list_incidents(open=True), client.get_incident),
            "node": (client.list_nodes(task), client.get_node),
            "attempt": (client.list_attempts(task), client.get_attempt),
        }
        for name, (rows, single) in lists.items():
            found: list[Any] = list(rows)
            assert found, name
            assert single(found[0].id) == found[0]
        (note,) = client.list_notes(team=cast.team.pk)
        whole = client.get_note(note.id)
        assert whole.content == note.content
        assert list(client.list_landings(note=note.id)) == list(whole.landings)
        (waiting,) = client.list_review_items(note=note.id, open=True)
        assert waiting.note_version == note.version
        assert not list(client.list_review_items(open=False))
        assert [flush.ordinal for flush in client.list_flushes(status="waiting")] == [1]
        assert {member.name: member.role for member in client.list_members()}["reviewer"] == "reviewer"
        assert [budget.tokens_max for budget in client.list_budgets()] == [1_000_000]
        assert [source.agent for source in client.list_imports(team=cast.team.pk)] == [stage.rows["teams.agent"].pk]
        assert [span.seq for span in client.list_spans(attempt)]
        assert list(client.list_messages(task))
        head = client.get_ledger(organization.id)
        assert [entry.seq for entry in client.list_entries(organization.id, limit=7)] == list(range(head.size))
        assert client.verify_ledger(organization.id).valid
        assert len(list(client.export_ledger(organization.id))) == head.size + 1
        with pytest.raises(Forbidden) as refused:
            client.approve_note(note.id, digest=note.content_digest)
        assert refused.value.code == "forbidden"
        with pytest.raises(NotFound):
            client.get_task(uuid4())


def test_a_key_is_kept_over_clients(remote: Cast) -> None:
    with serving() as address, Client(address, service_token(remote.owner, remote.organization)) as client:
        first = client.submit_task(remote.team.pk, "Build it.", key="once")
        assert client.submit_task(remote.team.pk, "Build it.", key="once") == first
        with pytest.raises(Conflict) as refused:
            client.submit_task(remote.team.pk, "Build something else.", key="once")
    assert refused.value.code == "key_used"
    assert Task.objects.count() == 1


def test_an_end_whose_answer_was_lost(remote: Cast) -> None:
    """The door has taken it; the second try gets 401, and the attempt is looked up with the service's token."""
    with serving() as address, Client(address, service_token(remote.owner, remote.organization)) as client:
        client.submit_task(remote.team.pk, "Build it.", plan=plan(4))
        lease = client.lease_node(remote.team.pk, wait_s=5)
        assert lease is not None
        lossy = _Lossy(client)
        found = lossy.complete_attempt(lease.attempt, output="done", token=lease.token)
    assert (found.attempt, found.status, lossy.lost) == (lease.attempt, "completed", 1)
    assert Attempt.objects.get().output == "done"


class _Lossy(Client):
    """Loses the first answer to an end."""

    def __init__(self, like: Client) -> None:
        super().__init__(like.url, like._token, patience=like.patience)
        self.lost = 0

    def _do(self, step: Any) -> Any:
        from tikitaka.client.exchange import Lost

        found = super()._do(step)
        if isinstance(found, Reply) and found.status == 200 and step.call.operation == "complete_attempt":
            self.lost += 1
            return Lost("ReadError")
        return found


def test_an_orchestrator_in_an_event_loop(remote: Cast) -> None:
    """Two nodes one after the other, their spans, and the events that somebody else follows meanwhile."""
    token = service_token(remote.owner, remote.organization)

    async def answer(job: Job) -> str:
        seq = job.span("command", "look around", status="started")
        job.span("command", "look around", replaces=seq)
        return f"{job.envelope.agent_name} did {job.envelope.instruction}"

    async def main(address: str) -> list[Any]:
        async with AsyncClient(address, token) as client:
            task = await client.submit_task(remote.team.pk, "Build it.", plan=plan(4, 5))

            async def settled() -> bool:
                return (await client.get_task(task.id)).settled_at is not None

            async def follow() -> list[Any]:
                return [event async for event in client.follow_task(task.id)]

            following = asyncio.create_task(follow())
            assert await work_async(client, remote.team.pk, answer, until=settled, wait_s=2) == 2
            return await following

    with serving() as address:
        events = asyncio.run(main(address))
    assert events[-1].data == {"status": "completed"}
    assert [event.data["text"] for event in events if event.name == "feed"].count("look around") >= 2
    assert list(Attempt.objects.order_by("pk").values_list("output", flat=True)) == [
        "Remote did part 1",
        "Distant did part 2",
    ]
    assert Span.objects.filter(kind="command", status="completed").count() == 2


def test_what_is_refused_is_told(remote: Cast) -> None:
    with serving() as address, Client(address, service_token(remote.owner, remote.organization)) as client:
        with pytest.raises(Refused) as refused:
            client.submit_task(remote.team.pk, "")
        assert (refused.value.status, set(refused.value.fields)) == (400, {"prompt"})
        me = client.get_current_token()
        assert client.revoke_token(me.id).revoked_at is not None
        with pytest.raises(Refused) as gone:
            client.get_current_token()
        assert gone.value.code == "not_authenticated"
    assert ServiceToken.objects.filter(revoked_at__isnull=False).count() == 1


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose leases are short, so that heartbeats come within a test."""
    monkeypatch.setenv("TIKITAKA_POLICY_LEASE_S", "5")
    monkeypatch.setenv("TIKITAKA_POLICY_LEASE_RENEW_S", "1")


def patiently(job: Job, seconds: float = 20) -> str:
    """A program that takes its time, and looks whether it should stop."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        job.check()
        time.sleep(0.05)
    raise AssertionError("nobody stopped it")


def test_cancelling_stops_the_program(remote: Cast, brisk: None) -> None:
    with serving() as address, Client(address, service_token(remote.owner, remote.organization)) as client:
        task = client.submit_task(remote.team.pk, "Build it.", plan=plan(4, 5))

        def program(job: Job) -> str:
            client.cancel_task(task.id)
            return patiently(job)

        taken = work(client, remote.team.pk, program, until=lambda: client.get_task(task.id).settled_at is not None)
        assert client.get_task(task.id).status == "cancelled"
    assert taken == 1
    assert set(Attempt.objects.values_list("status", "error")) == {("cancelled", "cancelled")}


def test_a_lost_lease_stops_the_program_and_the_next_one_answers(remote: Cast, brisk: None) -> None:
    seen: list[Job] = []

    def program(job: Job) -> str:
        seen.append(job)
        if len(seen) == 2:
            return "the second one"
        AgentLease.objects.update(expires_at=clock.now() - timedelta(seconds=1))
        sweep()
        return patiently(job)

    with serving() as address, Client(address, service_token(remote.owner, remote.organization)) as client:
        task = client.submit_task(remote.team.pk, "Build it.", plan=plan(4))
        taken = work(client, remote.team.pk, program, until=lambda: client.get_task(task.id).settled_at is not None)
    assert taken == 1
    assert [job.lost for job in seen] == [True, False]
    ended = Attempt.objects.order_by("pk").values_list("status", "output")
    assert list(ended) == [("interrupted", ""), ("completed", "the second one")]


def test_a_lease_is_kept_for_as_long_as_the_program_runs(remote: Cast, brisk: None) -> None:
    """Seven seconds under leases of five, with sweeps that look for lost ones."""

    def program(job: Job) -> str:
        for _ in range(14):
            time.sleep(0.5)
            sweep()
        job.check()
        return "kept"

    with serving() as address, Client(address, service_token(remote.owner, remote.organization)) as client:
        task = client.submit_task(remote.team.pk, "Build it.", plan=plan(4))
        work(client, remote.team.pk, program, until=lambda: client.get_task(task.id).settled_at is not None)
    assert list(Attempt.objects.values_list("status", "output")) == [("completed", "kept")]


def test_events_go_on_where_somebody_was(committed_stage: Stage) -> None:
    cast, task = committed_stage.cast, committed_stage.rows["tasks.task"].pk
    Task.objects.filter(pk=task).update(status="completed")
    with serving() as address, Client(address, service_token(cast.owner, cast.organization)) as client:
        first = [event for event in client.follow_task(task) if event.name == "feed"]
        assert first
        again = client.follow_task(task, after=first[-1].id)
        assert [event.name for event in again] == ["state", "end"]
