"""What a call ends with: answers, refusals, tries and what is never tried twice. Every test runs with both clients."""

from __future__ import annotations

import pickle
import re
import socket
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.core.client.servers import ATTEMPT, LOST, TASK, Both, Server, answer, attempt, refusal, task, token
from tikitaka import client as names
from tikitaka.client import (
    Client,
    Conflict,
    Invalid,
    NotAuthenticated,
    NotFound,
    Patience,
    Refused,
    Secret,
    TooManyRequests,
    Unreachable,
    Unreadable,
)
from tikitaka.client.calls import Reply
from tikitaka.client.exchange import Lost

BOTH = pytest.mark.parametrize("waits", [True, False], ids=["waits", "awaited"])
ATTEMPT_TOKEN = f"tk_{'1' * 12}_{'B' * 43}"


def ask(script: Any, waits: bool, name: str, *args: Any, **named: Any) -> tuple[Any, Server]:
    server = Server(script)
    return Both(server, waits=waits).call(name, *args, **named), server


def fail(error: type[Exception], script: Any, waits: bool, name: str, *args: Any, **named: Any) -> tuple[Any, Server]:
    server = Server(script)
    with pytest.raises(error) as found:
        Both(server, waits=waits).call(name, *args, **named)
    return found.value, server


@BOTH
class TestAnswers:
    def test_a_record(self, waits: bool) -> None:
        found, server = ask([answer(body=task())], waits, "get_task", TASK)
        assert found.id == TASK
        assert found.submitted_at == datetime(2026, 3, 1, 9, 14, tzinfo=UTC)
        assert (found.settled_at, found.plan_reasons) == (None, ())
        (asked,) = server.asked
        assert (asked.method, asked.url.path) == ("GET", f"/api/v1/tasks/{TASK}")
        assert asked.headers["Authorization"] == f"Bearer {token()}"

    def test_fields_that_a_newer_server_has_are_ignored(self, waits: bool) -> None:
        found, _ = ask([answer(body=task(mood="good", status="paused"))], waits, "get_task", TASK)
        assert found.status == "paused"

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({"id": str(TASK)}, "Task without team"),
            (task(id="x"), r"Task\.id has an unknown form"),
            (task(plan_only=1), r"Task\.plan_only has an unknown form"),
            (task(started_at=5), r"Task\.started_at"),
            (task(plan_reasons="x"), r"Task\.plan_reasons"),
            ([], "Task: not an object"),
        ],
    )
    def test_an_answer_that_is_none(self, body: Any, words: str, waits: bool) -> None:
        error, _ = fail(Unreadable, [answer(body=body)], waits, "get_task", TASK)
        assert re.search(words, str(error))

    def test_a_page_of_some_proxy(self, waits: bool) -> None:
        error, _ = fail(Unreadable, [httpx2.Response(200, text="<html>hello")], waits, "get_task", TASK)
        assert "hello" not in str(error)

    def test_nothing_came_in_time(self, waits: bool) -> None:
        found, server = ask([httpx2.Response(204)], waits, "lease_node", TASK, wait_s=3)
        assert found is None
        assert server.bodies() == [{"team": str(TASK), "wait_s": 3}]

    def test_pages_are_asked_for_one_after_the_other(self, waits: bool) -> None:
        pages = [
            answer(body={"items": [task(), task()], "next": "abc"}),
            answer(body={"items": [task(id=str(UUID(int=9)))], "next": None}),
        ]
        found, server = ask(pages, waits, "list_tasks", team=TASK, limit=2)
        assert [row.id.int for row in found] == [1, 1, 9]
        assert dict(server.asked[0].url.params) == {"limit": "2", "team": str(TASK)}
        assert dict(server.asked[1].url.params) == {"limit": "2", "team": str(TASK), "cursor": "abc"}

    def test_a_page_without_items(self, waits: bool) -> None:
        fail(Unreadable, [answer(body={"next": None})], waits, "list_teams")

    def test_what_is_put_into_a_path_stays_in_its_place(self, waits: bool) -> None:
        _, server = fail(NotFound, [refusal(404, "not_found")], waits, "get_task", "../tokens/current?x=1")
        assert server.asked[0].url.raw_path == b"/api/v1/tasks/..%2Ftokens%2Fcurrent%3Fx%3D1"

    def test_a_redirect_is_not_followed(self, waits: bool) -> None:
        """The token would go wherever it leads."""
        there = httpx2.Response(302, headers={"Location": "https://elsewhere.example/"})
        error, server = fail(Refused, [there], waits, "get_task", TASK)
        assert (error.status, error.code, len(server.asked)) == (302, "unreadable", 1)


@BOTH
class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (400, Invalid),
            (401, NotAuthenticated),
            (403, names.Forbidden),
            (404, NotFound),
            (409, Conflict),
            (413, names.TooLarge),
            (500, Refused),
        ],
    )
    def test_each_has_its_kind_and_is_not_tried_again(self, status: int, kind: type[Refused], waits: bool) -> None:
        error, server = fail(kind, [refusal(status, "some_code")], waits, "get_task", TASK)
        assert type(error) is kind
        assert (error.status, error.code, error.detail) == (status, "some_code", "so it is")
        assert (error.fields, error.facts) == ({"a": "b"}, {"n": 1})
        assert len(server.asked) == 1

    def test_a_refusal_that_is_not_ours(self, waits: bool) -> None:
        error, _ = fail(Refused, [httpx2.Response(500, text="<html>secret things")], waits, "get_task", TASK)
        assert (error.status, error.code) == (500, "unreadable")
        assert "secret things" not in str(error)


@BOTH
class TestTrying:
    @pytest.mark.parametrize(
        "trouble",
        [LOST, httpx2.ConnectError("no"), refusal(429, "too_many_requests", Retry_After="0"), refusal(503, "away")],
    )
    def test_looking_is_tried_again(self, trouble: Any, waits: bool) -> None:
        found, server = ask([trouble, trouble, answer(body=task())], waits, "get_task", TASK)
        assert found.id == TASK
        assert len(server.asked) == 3

    def test_not_for_ever(self, waits: bool) -> None:
        error, server = fail(Unreachable, [LOST] * 4, waits, "get_task", TASK)
        assert len(server.asked) == 4
        assert "ReadError" in str(error)

    def test_a_wait_that_is_too_long_is_not_begun(self, waits: bool) -> None:
        late = refusal(429, "too_many_requests", Retry_After="59")
        error, server = fail(TooManyRequests, [late], waits, "get_task", TASK)
        assert error.retry_after_s == 59
        assert len(server.asked) == 1

    def test_what_takes_a_key_is_sent_again_under_the_same_key(self, waits: bool) -> None:
        script = [LOST, answer(status=201, body=task(looks_secret=False))]
        found, server = ask(script, waits, "submit_task", TASK, "Build it.")
        assert found.looks_secret is False
        keys = {request.headers["Idempotency-Key"] for request in server.asked}
        assert len(server.asked) == 2
        assert len(keys) == 1

    def test_the_next_call_has_another_key_unless_the_caller_keeps_one(self, waits: bool) -> None:
        server = Server(lambda _: answer(status=201, body=task(looks_secret=False)))
        for key in (None, None, "mine", "mine"):
            Both(server, waits=waits).call("submit_task", TASK, "Build it.", key=key)
        keys = [request.headers["Idempotency-Key"] for request in server.asked]
        assert len({*keys[:2]}) == 2
        assert keys[2:] == ["mine", "mine"]

    def test_times_travel_with_their_zone(self, waits: bool) -> None:
        spans = [{"seq": 1, "kind": "command", "text": "ls", "at": datetime(2026, 3, 1, tzinfo=UTC)}]
        _, server = ask([answer(body={"stored": 1})], waits, "append_spans", ATTEMPT, spans)
        assert server.bodies()[0]["spans"][0]["at"] == "2026-03-01T00:00:00+00:00"

    @pytest.mark.parametrize("trouble", [LOST, refusal(503, "away"), refusal(429, "too_many_requests")])
    @pytest.mark.parametrize("name", ["lease_node", "pause_team", "retire_agent", "revoke_token", "verify_ledger"])
    def test_what_takes_none_is_sent_once(self, name: str, trouble: Any, waits: bool) -> None:
        _, server = fail(names.ClientError, [trouble], waits, name, TASK)
        assert len(server.asked) == 1

    def test_a_decision_names_what_was_shown(self, waits: bool) -> None:
        _, server = fail(Refused, [refusal(403, "forbidden")], waits, "reject_note", TASK, digest="d1", words="no")
        assert server.asked[0].headers["If-Match"] == '"d1"'
        assert server.bodies() == [{"words": "no"}]


@BOTH
class TestAttempts:
    """Calls with an attempt's token, which ends with the attempt."""

    def test_a_heartbeat_may_be_repeated_and_goes_with_the_attempts_token(self, waits: bool) -> None:
        beat = answer(body={"expires_at": task()["submitted_at"], "cancel_requested": True})
        found, server = ask([LOST, beat], waits, "heartbeat", ATTEMPT, token=ATTEMPT_TOKEN)
        assert found.cancel_requested is True
        assert {request.headers["Authorization"] for request in server.asked} == {f"Bearer {ATTEMPT_TOKEN}"}

    def test_spans_may_be_repeated(self, waits: bool) -> None:
        spans = [{"seq": 1, "kind": "command", "text": "ls"}]
        found, server = ask([LOST, answer(body={"stored": 1})], waits, "append_spans", ATTEMPT, spans)
        assert found.stored == 1
        assert server.bodies() == [{"spans": spans}] * 2

    def done(self) -> httpx2.Response:
        return answer(body={"attempt": str(ATTEMPT), "status": "completed"})

    def test_a_lost_end_is_sent_again(self, waits: bool) -> None:
        found, _ = ask([LOST, self.done()], waits, "complete_attempt", ATTEMPT, output="x", token=ATTEMPT_TOKEN)
        assert found.status == "completed"

    @pytest.mark.parametrize("no", [refusal(401, "not_authenticated"), refusal(409, "attempt_over")])
    def test_an_end_that_was_taken_and_lost_is_looked_up(self, no: httpx2.Response, waits: bool) -> None:
        script = [LOST, no, answer(body=attempt("completed"))]
        found, server = ask(script, waits, "complete_attempt", ATTEMPT, output="x", token=ATTEMPT_TOKEN)
        assert (found.attempt, found.status) == (ATTEMPT, "completed")
        assert server.asked[2].headers["Authorization"] == f"Bearer {token()}"

    def test_an_attempt_that_was_given_up_was_not_completed(self, waits: bool) -> None:
        script = [LOST, refusal(401, "not_authenticated"), answer(body=attempt("interrupted"))]
        fail(NotAuthenticated, script, waits, "complete_attempt", ATTEMPT, output="x", token=ATTEMPT_TOKEN)

    def test_the_services_token_may_not_see_it_either(self, waits: bool) -> None:
        no = refusal(401, "not_authenticated")
        fail(NotAuthenticated, [LOST, no, no], waits, "complete_attempt", ATTEMPT, output="x", token=ATTEMPT_TOKEN)

    def test_a_refusal_without_a_loss_is_not_looked_up(self, waits: bool) -> None:
        no = [refusal(401, "not_authenticated")]
        _, server = fail(NotAuthenticated, no, waits, "complete_attempt", ATTEMPT, output="x", token=ATTEMPT_TOKEN)
        assert len(server.asked) == 1


class TestPatience:
    def test_waits_grow_and_vary_and_have_an_end(self) -> None:
        patience = Patience(tries=20, first_s=1, longest_s=8)
        for tries in range(1, 20):
            pauses = {patience.pause_s(tries, Lost("x")) for _ in range(50)}
            assert len(pauses) > 10
            assert all(pause is not None and 0 <= pause <= min(8, 2 ** (tries - 1)) for pause in pauses)
        assert patience.pause_s(20, Lost("x")) is None

    def test_what_the_server_asks_for_is_kept(self) -> None:
        pause = Patience().pause_s(1, Reply(status=503, content=b"", retry_after_s=5))
        assert pause is not None
        assert 5 <= pause <= 5.25


class TestSecrets:
    """A token goes to the server and nowhere else."""

    def test_it_neither_prints_nor_formats(self) -> None:
        secret = Secret(token())
        for text in (str(secret), repr(secret), f"{secret}", f"{secret!r:>80}", f"{secret:>80}"):
            assert "A" * 5 not in text
        assert secret.reveal() == token()

    def test_a_client_shows_where_it_goes_only(self) -> None:
        with Server([]).client() as client:
            assert repr(client) == "Client('https://door.example')"
            assert token() not in repr(vars(client))

    @pytest.mark.parametrize("trouble", [LOST, refusal(401, "not_authenticated"), answer(body={})])
    def test_no_error_holds_it(self, trouble: Any) -> None:
        error, _ = fail(names.ClientError, [trouble] * 4, True, "get_task", TASK)
        seen: Any = error
        while seen is not None:
            assert not isinstance(seen, httpx2.HTTPError), "it would hold the request, and that the token"
            assert token() not in repr(seen) + str(vars(seen))
            seen = seen.__cause__ or seen.__context__

    def test_a_refusal_survives_a_process_pool(self) -> None:
        error = Conflict(409, "wrong_state", "no", {"a": "b"}, {"n": 1}, 2.0)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), vars(again)) == (Conflict, vars(error))

    @pytest.mark.parametrize("wrong", ["", "  ", "tk_x\r\nX-Other: 1", "tk x", "tk_ä"])
    def test_a_token_that_none_is(self, wrong: str) -> None:
        with pytest.raises(ValueError, match="token") as found:
            Client("https://door.example", wrong)
        assert wrong.strip() == "" or wrong not in str(found.value)

    @pytest.mark.parametrize(
        "address",
        [
            "http://door.example",
            "http://10.0.0.7:8000",
            "ftp://door.example",
            "door.example",
            "https://",
            "https://user:pass@door.example",
            "https://door.example/?x=1",
        ],
    )
    def test_where_it_does_not_go(self, address: str) -> None:
        with pytest.raises(ValueError, match=r"address|plain HTTP"):
            Client(address, token())

    @pytest.mark.parametrize(
        "address", ["https://door.example/", "http://127.0.0.1:8000", "http://[::1]:1", "http://localhost"]
    )
    def test_where_it_goes(self, address: str) -> None:
        assert Client(address, token()).url == address.rstrip("/")

    def test_no_proxy_stands_on_the_way_to_this_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The environment names one that answers everything; nothing arrives there."""
        heard: list[bytes] = []
        with socket.create_server(("127.0.0.1", 0)) as proxy, socket.socket() as nobody:
            proxy.settimeout(0.5)
            nobody.bind(("127.0.0.1", 0))  # bound, and not listening
            for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
            monkeypatch.delenv("NO_PROXY", raising=False)
            monkeypatch.delenv("no_proxy", raising=False)
            address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
            with Client(address, token(), patience=Patience(tries=1)) as client, pytest.raises(Unreachable):
                client.get_current_token()
            with suppress(TimeoutError):
                heard.append(proxy.accept()[0].recv(4096))
        assert heard == []

    def test_a_house_may_speak_plain_http_within(self) -> None:
        assert Client("http://web:8000", token(), allow_http=True).url == "http://web:8000"
