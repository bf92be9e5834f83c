"""What holds at every address: keys, pages, bounds, one shape of refusals, how often one may ask."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from redis import ConnectionError as RedisConnectionError

from apps.accounts.models import ServiceToken
from apps.api.models import IdempotencyKey
from apps.ledger import clock
from apps.ledger.models import Entry
from apps.memory.models import Decision, Note
from apps.memory.services.review import NoteText, write_note
from apps.tasks.models import Message, Task
from tests.doors.conftest import Stage, browser_of
from tests.support.cast import Cast
from tests.support.machines import agent_token, machine, row_of, send, service_token
from tikitaka.authz import Permission
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db
TASKS = "/api/v1/tasks"


@pytest.fixture
def orchestrator(cast: Cast) -> Client:
    return machine(service_token(cast.owner, cast.organization))


def new_task(cast: Cast, prompt: str = "Add a health check.") -> dict[str, Any]:
    return {"team": str(cast.team.pk), "prompt": prompt}


class TestKeys:
    def test_the_same_request_is_done_once_and_answered_the_same(self, cast: Cast, orchestrator: Client) -> None:
        key = {"idempotency-key": "order-1"}
        first = send(orchestrator, "POST", TASKS, new_task(cast), **key)
        again = send(orchestrator, "POST", TASKS, new_task(cast), **key)
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert again["Idempotent-Replayed"] == "true"
        assert Task.objects.count() == 1

    def test_another_request_with_the_key_is_refused(self, cast: Cast, orchestrator: Client) -> None:
        key = {"idempotency-key": "order-1"}
        send(orchestrator, "POST", TASKS, new_task(cast), **key)
        other = send(orchestrator, "POST", TASKS, new_task(cast, "Something else."), **key)
        assert (other.status_code, other.json()["code"]) == (409, "key_used")
        assert Task.objects.count() == 1

    def test_keys_of_two_callers_do_not_meet(self, cast: Cast, orchestrator: Client) -> None:
        second = machine(service_token(cast.owner, cast.organization))
        for client in (orchestrator, second):
            assert send(client, "POST", TASKS, new_task(cast), **{"idempotency-key": "same"}).status_code == 201
        assert Task.objects.count() == 2

    def test_what_was_refused_may_be_tried_again_with_the_key(self, cast: Cast, orchestrator: Client) -> None:
        key = {"idempotency-key": "order-1"}
        bad = send(
            orchestrator, "POST", TASKS, {**new_task(cast), "plan": [{"agentIndex": 9, "instruction": "x"}]}, **key
        )
        assert (bad.status_code, bad.json()["fields"]) == (400, {"plan": "unknown_agent"})
        assert not IdempotencyKey.objects.exists()
        assert send(orchestrator, "POST", TASKS, new_task(cast), **key).status_code == 201

    def test_an_answer_that_was_lost_is_said_to_be(
        self, cast: Cast, orchestrator: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As after a kill between the effect and the answer: the effect is there once."""
        monkeypatch.setattr("apps.api.idempotency._WAIT_S", 0.1)
        key = {"idempotency-key": "order-1"}
        send(orchestrator, "POST", TASKS, new_task(cast), **key)
        IdempotencyKey.objects.update(reply_status=None, reply=None)
        again = send(orchestrator, "POST", TASKS, new_task(cast), **key)
        assert (again.status_code, again.json()["code"]) == (409, "reply_lost")
        assert Task.objects.count() == 1

    @pytest.mark.parametrize("key", ["", "x" * 129, "tab\there", "émile"])
    def test_a_key_that_is_none_is_refused(self, key: str, cast: Cast, orchestrator: Client) -> None:
        answer = send(orchestrator, "POST", TASKS, new_task(cast), **{"idempotency-key": key})
        assert answer.status_code == 400
        assert list(answer.json()["fields"]) == ["Idempotency-Key"]

    def test_old_keys_are_forgotten(self, cast: Cast, orchestrator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("apps.api.idempotency._forgotten_at", -1_000.0)
        send(orchestrator, "POST", TASKS, new_task(cast), **{"idempotency-key": "old"})
        IdempotencyKey.objects.update(created_at=clock.now() - timedelta(hours=25))
        monkeypatch.setattr("apps.api.idempotency._forgotten_at", -1_000.0)
        send(orchestrator, "POST", TASKS, new_task(cast), **{"idempotency-key": "new"})
        assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["new"]

    def test_a_refusal_that_is_an_entry_stays_one(self, stage: Stage) -> None:
        """The key's transaction is rolled back; the denial is not part of it."""
        note = stage.note()
        owner = browser_of(stage.cast)("owner")
        tag = {"if-match": f'"{note.content_digest}"', "idempotency-key": "decide-1"}
        answer = send(owner, "POST", reverse("api:note-approve", args=[note.pk]), **tag)
        assert answer.status_code == 403
        assert Entry.objects.filter(type="access.denied", subject_id=str(note.pk)).count() == 1
        assert not IdempotencyKey.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_eight_racing_requests_with_one_key_are_one(committed_cast: Cast) -> None:
    token = service_token(committed_cast.owner, committed_cast.organization)
    answers: list[Any] = []
    gate = threading.Barrier(8)

    def post() -> None:
        try:
            gate.wait(60)
            answers.append(send(machine(token), "POST", TASKS, new_task(committed_cast), **{"idempotency-key": "one"}))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [answer.status_code for answer in answers] == [201] * 8
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Task.objects.count() == 1
    assert Message.objects.count() == 1


class TestPages:
    def test_they_are_stable_under_inserts(self, cast: Cast, orchestrator: Client) -> None:
        for number in range(5):
            send(orchestrator, "POST", TASKS, new_task(cast, f"first {number}"))
        seen, cursor = [], None
        while True:
            query = "?limit=2" + (f"&cursor={cursor}" if cursor else "")
            found = send(orchestrator, "GET", TASKS + query).json()
            seen += [item["prompt"] for item in found["items"]]
            cursor = found["next"]
            if cursor is None:
                break
            if len(seen) < 6:
                send(orchestrator, "POST", TASKS, new_task(cast, f"later {len(seen)}"))
        assert seen == [*(f"first {number}" for number in range(5)), "later 2", "later 4"]

    def test_backwards_too(self, cast: Cast, orchestrator: Client) -> None:
        for number in range(3):
            send(orchestrator, "POST", TASKS, new_task(cast, str(number)))
        first = send(orchestrator, "GET", TASKS + "?order=desc&limit=2").json()
        rest = send(orchestrator, "GET", TASKS + f"?order=desc&limit=2&cursor={first['next']}").json()
        assert [item["prompt"] for item in first["items"] + rest["items"]] == ["2", "1", "0"]
        assert rest["next"] is None

    @pytest.mark.parametrize(
        "query", ["cursor=nonsense", "cursor=", "limit=0", "limit=201", "order=up", "state=x", "team=7", "format=xml"]
    )
    def test_a_wrong_parameter_is_named(self, query: str, orchestrator: Client) -> None:
        answer = send(orchestrator, "GET", f"{TASKS}?{query}")
        assert answer.status_code == 400
        assert list(answer.json()["fields"]) == [query.split("=")[0]]

    def test_filters(self, stage: Stage) -> None:
        client = machine(service_token(stage.cast.owner, stage.cast.organization))
        assert len(send(client, "GET", f"{TASKS}?status=running&team={stage.cast.team.pk}").json()["items"]) == 1
        assert send(client, "GET", f"{TASKS}?status=failed").json()["items"] == []
        assert send(client, "GET", f"{TASKS}?team={stage.cast.other_team.pk}").json()["items"] == []


class TestBodies:
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"prompt": "nul \x00"}, "prompt"),
            ({"prompt": "half \ud800"}, "prompt"),
            ({"prompt": "   "}, "prompt"),
            ({"prompt": 7 * [1]}, "prompt"),
            ({"prompt": "x" * 50_001}, "prompt"),
            ({"team": "seven"}, "team"),
            ({"surprise": 1}, "surprise"),
            ({"plan": [{"agentIndex": "one", "instruction": "x"}]}, "plan.0.agentIndex"),
            ({"plan": {"a": 1}}, "plan"),
            ({"attempts_max": -1}, "attempts_max"),
        ],
    )
    def test_what_is_wrong_is_named(self, body: dict[str, Any], field: str, cast: Cast, orchestrator: Client) -> None:
        answer = send(orchestrator, "POST", TASKS, {**new_task(cast), **body})
        assert answer.status_code == 400, answer.content
        assert answer.json()["code"] == "invalid"
        assert any(name.startswith(field) for name in answer.json()["fields"]), answer.json()
        assert not Task.objects.exists()

    @pytest.mark.parametrize(
        "raw",
        ["", "{", "[]", "null", "7", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000, "\xff", '{"a": %s}' % ("9" * 5_000)],
    )
    def test_what_is_no_object_is_refused(self, raw: str, orchestrator: Client) -> None:
        answer = orchestrator.post(TASKS, data=raw.encode("latin-1"), content_type="application/json")
        assert answer.status_code == 400, answer.content
        assert set(answer.json()) == {"code", "detail", "fields"}

    def test_what_is_too_large_is_refused_before_it_is_read(self, cast: Cast, orchestrator: Client) -> None:
        answer = send(orchestrator, "POST", TASKS, {**new_task(cast), "prompt": "x" * (1024 * 1024)})
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")

    def test_another_form_than_json_is_refused(self, orchestrator: Client) -> None:
        answer = orchestrator.post(TASKS, data={"prompt": "x"})
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")

    def test_an_address_that_is_none_answers_in_the_same_shape(self, orchestrator: Client) -> None:
        answer = send(orchestrator, "GET", "/api/v2/anything")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    def test_a_method_that_is_none(self, orchestrator: Client) -> None:
        answer = send(orchestrator, "DELETE", TASKS)
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
        assert answer["Allow"]


@pytest.mark.parametrize("place", ["9" * 30, str(2**63), str(-(2**63) - 1), "seven", None, float("inf"), [1], {}])
def test_a_place_that_no_row_can_have(place: Any, stage: Stage) -> None:
    client = machine(service_token(stage.cast.owner, stage.cast.organization))
    cursor = base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")
    task = stage.rows["tasks.task"].pk
    for address in (TASKS, reverse("api:task-nodes", args=[task]), reverse("api:task-messages", args=[task])):
        refused = client.get(address, {"cursor": cursor})
        assert (refused.status_code, list(refused.json()["fields"])) == (400, ["cursor"])


def test_nobody_is_let_in_uncounted(orchestrator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> bool:
        raise RedisConnectionError("refused")

    monkeypatch.setattr("apps.api.throttling.cache.add", away)
    refused = send(orchestrator, "GET", TASKS)
    assert (refused.status_code, refused.json()["code"]) == (503, "counter_away")
    assert refused["Retry-After"] == "5"


def test_too_many_requests_are_refused_for_a_minute(
    cast: Cast, orchestrator: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    monkeypatch.setattr("apps.api.throttling.time.time", lambda: 1_000_000_030.0)
    settings.TIKITAKA_POLICY = dataclasses.replace(DEFAULT, requests_per_minute=3)
    found = [send(orchestrator, "GET", TASKS).status_code for _ in range(5)]
    assert found == [200, 200, 200, 429, 429]
    refused = send(orchestrator, "GET", TASKS)
    assert refused.json()["code"] == "too_many_requests"
    assert 1 <= int(refused["Retry-After"]) <= 61
    other = machine(service_token(cast.owner, cast.organization))
    assert send(other, "GET", TASKS).status_code == 200, "each token has its own"
    monkeypatch.setattr("apps.api.throttling.time.time", lambda: 1_000_000_090.0)
    assert send(orchestrator, "GET", TASKS).status_code == 200
    cache.clear()


class TestDecisions:
    @pytest.fixture
    def note(self, cast: Cast) -> Note:
        text = NoteText(content="Staging is rebuilt on Mondays.", description="When staging is rebuilt")
        return write_note(actor=cast.owner, team=cast.team, text=text, policy=DEFAULT)

    def test_a_reviewer_approves_exactly_what_was_shown(self, cast: Cast, note: Note) -> None:
        reviewer = browser_of(cast)("reviewer")
        shown = send(reviewer, "GET", reverse("api:note", args=[note.pk]))
        assert shown["ETag"] == f'"{note.content_digest}"'
        assert {row["verdict"] for row in shown.json()["recipients"]} <= {"granted", "withheld"}
        assert len(shown.json()["recipients"]) == 3, "every agent has a verdict"
        address = reverse("api:note-approve", args=[note.pk])
        stale = send(reviewer, "POST", address, **{"if-match": '"' + "0" * 64 + '"'})
        assert (stale.status_code, stale.json()["code"]) == (409, "content_changed")
        assert stale.json()["facts"] == {"version": 1}
        none = send(reviewer, "POST", address)
        assert (none.status_code, list(none.json()["fields"])) == (400, ["If-Match"])
        good = send(reviewer, "POST", address, **{"if-match": shown["ETag"]})
        assert (good.status_code, good.json()["status"]) == (200, "approved")
        late = send(reviewer, "POST", address, **{"if-match": shown["ETag"]})
        assert (late.status_code, late.json()["code"]) == (409, "already_decided")
        assert "reviewer" in late.json()["detail"]
        decision = Decision.objects.get(verdict="approved")
        assert decision.authentication["methods"] == ["password"]

    def test_a_session_without_the_csrf_token_changes_nothing(self, cast: Cast, note: Note) -> None:
        reviewer = browser_of(cast)("reviewer", enforce_csrf_checks=True)
        tag = {"if-match": f'"{note.content_digest}"'}
        answer = send(reviewer, "POST", reverse("api:note-approve", args=[note.pk]), **tag)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert not Decision.objects.exists()


class TestTokens:
    def test_a_token_is_shown_once_and_kept_as_a_digest(self, cast: Cast) -> None:
        owner = browser_of(cast)("owner")
        body = {"organization": str(cast.organization.pk), "name": "ci", "scopes": ["run_task"], "days": 30}
        made = send(owner, "POST", "/api/v1/tokens", body)
        assert made.status_code == 201, made.content
        assert made["Cache-Control"] == "no-store"
        secret = made.json()["token"].split("_", 2)[2]
        row = row_of(made.json()["token"])
        assert secret not in json.dumps(list(ServiceToken.objects.values()), default=str)
        listed = send(owner, "GET", "/api/v1/tokens").content.decode()
        assert row.prefix in listed
        assert secret not in listed
        entry = Entry.objects.get(type="org.token.issued")
        assert secret not in entry.header

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"days": 91}, "days"),
            ({"scopes": ["decide_note"]}, "scopes.0"),
            ({"scopes": []}, "scopes"),
            ({"name": " "}, "name"),
        ],
    )
    def test_what_no_token_may_have(self, change: dict[str, Any], field: str, cast: Cast) -> None:
        body = {"organization": str(cast.organization.pk), "name": "ci", "scopes": ["run_task"], "days": 30, **change}
        answer = send(browser_of(cast)("owner"), "POST", "/api/v1/tokens", body)
        assert answer.status_code == 400
        assert list(answer.json()["fields"]) == [field]

    def test_only_teams_of_the_organization(self, cast: Cast) -> None:
        body = {"organization": str(cast.organization.pk), "name": "ci", "scopes": ["run_task"], "days": 30}
        answer = send(browser_of(cast)("owner"), "POST", "/api/v1/tokens", {**body, "teams": [str(cast.other_team.pk)]})
        assert answer.json()["fields"] == {"teams": "must be teams of the organization"}

    @pytest.mark.parametrize("who", ["reviewer", "operator", "auditor"])
    def test_only_an_owner_makes_one(self, who: str, cast: Cast) -> None:
        body = {"organization": str(cast.organization.pk), "name": "ci", "scopes": ["run_task"], "days": 30}
        assert send(browser_of(cast)(who), "POST", "/api/v1/tokens", body).status_code == 403
        assert not ServiceToken.objects.exists()

    def test_a_token_looks_at_itself_and_ends_itself(self, cast: Cast) -> None:
        token = service_token(cast.owner, cast.organization, scopes=[Permission.TASK_RUN])
        client = machine(token)
        me = send(client, "GET", "/api/v1/tokens/current").json()
        assert (me["scopes"], me["prefix"]) == (["run_task"], row_of(token).prefix)
        other = row_of(service_token(cast.owner, cast.organization))
        assert send(client, "POST", reverse("api:token-revoke", args=[other.pk])).status_code == 404
        assert send(client, "POST", reverse("api:token-revoke", args=[row_of(token).pk])).status_code == 200
        assert send(client, "GET", "/api/v1/tokens/current").status_code == 401
        assert Entry.objects.filter(type="org.token.revoked").count() == 1

    def test_the_prefix_alone_opens_nothing(self, cast: Cast) -> None:
        token = service_token(cast.owner, cast.organization)
        other = service_token(cast.owner, cast.organization)
        forged = "_".join((*token.split("_")[:2], other.split("_", 2)[2]))
        assert send(machine(token), "GET", TASKS).status_code == 200
        assert send(machine(forged), "GET", TASKS).status_code == 401

    def test_its_use_is_noted_once_a_minute(self, cast: Cast, orchestrator: Client) -> None:
        send(orchestrator, "GET", TASKS)
        used = ServiceToken.objects.get().last_used_at
        assert used is not None
        send(orchestrator, "GET", TASKS)
        assert ServiceToken.objects.get().last_used_at == used

    def test_an_agents_token_ends_with_the_agent(self, cast: Cast) -> None:
        from apps.conductor.teams import retire_agent

        agent = cast.agents["frontend"]
        client = machine(agent_token(cast.owner, agent))
        assert send(client, "GET", "/api/v1/tokens/current").status_code == 200
        retire_agent(actor=cast.owner, agent=agent)
        assert send(client, "GET", "/api/v1/tokens/current").status_code == 401


class TestQueries:
    """How often the database is asked, whatever the size of the page."""

    def count(self, client: Client, address: str) -> int:
        send(client, "GET", address)  # the token's use is noted
        with CaptureQueriesContext(connection) as found:
            assert send(client, "GET", address).status_code == 200
        return len(found)

    def test_a_list(self, cast: Cast, orchestrator: Client) -> None:
        send(orchestrator, "POST", TASKS, new_task(cast))
        few = self.count(orchestrator, TASKS)
        for number in range(20):
            send(orchestrator, "POST", TASKS, new_task(cast, str(number)))
        assert self.count(orchestrator, TASKS) == few <= 3

    def test_a_note(self, stage: Stage) -> None:
        client = machine(service_token(stage.cast.owner, stage.cast.organization))
        assert self.count(client, reverse("api:note", args=[stage.note().pk])) <= 5
        assert self.count(client, "/api/v1/notes") <= 2


def test_the_description_has_a_page_that_the_policy_lets_work(client: Client) -> None:
    page = client.get("/api/docs/")
    assert page.status_code == 200
    text = page.content.decode()
    assert "<style" not in text
    scripts = re.findall(r"<script([^>]*)>", text)
    assert len(scripts) == 3
    assert all('src="/' in script for script in scripts), "nothing inline, nothing from another host"
    assert "script-src" not in page["Content-Security-Policy"], "scripts are the site's own: default-src 'self'"
    script = client.get("/api/docs/?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert client.get("/api/schema/").status_code == 200


def test_each_token_of_an_agent_has_its_own_minute(cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr("apps.api.throttling.time.time", lambda: 1_000_000_030.0)
    settings.TIKITAKA_POLICY = dataclasses.replace(DEFAULT, requests_per_minute=1)
    agent = cast.agents["backend"]
    first, second = (machine(agent_token(cast.owner, agent)) for _ in range(2))
    assert send(first, "GET", "/api/v1/tokens/current").status_code == 200
    assert send(first, "GET", "/api/v1/tokens/current").status_code == 429
    assert send(second, "GET", "/api/v1/tokens/current").status_code == 200
    cache.clear()
