"""Events over lost connections, and files of which half is none. Every test runs with both clients."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.core.client.servers import TASK, Both, Chunks, Server, refusal, stream
from tests.core.client.test_exchanges import BOTH, ask, fail
from tikitaka.client import Forbidden, NotAuthenticated, Unreachable, Unreadable

RUNNING = b'event: state\ndata: {"status": "running"}\n\n'
END = b'event: end\ndata: {"status": "completed"}\n\n'


def line(number: int, text: str = "x") -> bytes:
    return f"id: {number}\nevent: feed\ndata: {json.dumps({'text': text}, ensure_ascii=False)}\n\n".encode()


def follow(script: list[Any], waits: bool, **named: Any) -> tuple[list[Any], Server]:
    return ask(script, waits, "follow_task", TASK, **named)


@BOTH
class TestEvents:
    def test_until_the_task_has_ended(self, waits: bool) -> None:
        found, server = follow([stream(b": still here\n\n", RUNNING, line(7), END)], waits)
        assert [(event.name, event.id) for event in found] == [("state", ""), ("feed", "7"), ("end", "7")]
        assert found[1].data == {"text": "x"}
        assert server.asked[0].headers["Accept"] == "text/event-stream"
        assert "Last-Event-ID" not in server.asked[0].headers

    def test_it_goes_on_behind_the_last_event(self, waits: bool) -> None:
        script = [stream(line(1), line(2), broken=True), httpx2.ConnectError("no"), stream(line(3), END)]
        found, server = follow(script, waits)
        assert [event.id for event in found if event.name == "feed"] == ["1", "2", "3"]
        assert [request.headers.get("Last-Event-ID") for request in server.asked] == [None, "2", "2"]

    def test_it_begins_where_the_caller_was(self, waits: bool) -> None:
        _, server = follow([stream(END)], waits, after="12~3.4")
        assert server.asked[0].headers["Last-Event-ID"] == "12~3.4"

    def test_a_stream_that_is_closed_before_its_end_is_asked_for_again(self, waits: bool) -> None:
        found, server = follow([stream(line(1)), stream(line(2)), stream(END)], waits)
        assert len(server.asked) == 3
        assert [event.name for event in found] == ["feed", "feed", "end"]

    def test_every_event_renews_the_patience(self, waits: bool) -> None:
        found, _ = follow([*(stream(line(n), broken=True) for n in range(20)), stream(END)], waits)
        assert len(found) == 21

    def test_a_server_that_says_nothing_is_given_up(self, waits: bool) -> None:
        _, server = fail(Unreachable, [stream() for _ in range(4)], waits, "follow_task", TASK)
        assert len(server.asked) == 4

    def test_who_may_not_look_any_more_is_told(self, waits: bool) -> None:
        """The server closes the stream, and says why when it is asked again."""
        script = [stream(line(1)), refusal(401, "not_authenticated")]
        fail(NotAuthenticated, script, waits, "follow_task", TASK)

    def test_signs_that_end_lines_elsewhere_are_text(self, waits: bool) -> None:
        found, _ = follow([stream(line(1, "a\u2028b\u0085c"), END)], waits)
        assert found[0].data["text"] == "a\u2028b\u0085c"

    def test_a_sign_that_is_cut_in_two(self, waits: bool) -> None:
        whole = line(1, "€")
        cut = whole.index("€".encode()) + 1
        found, _ = follow([stream(whole[:cut], whole[cut:], END)], waits)
        assert found[0].data["text"] == "€"

    @pytest.mark.parametrize("data", ["{", "[]"])
    def test_an_event_that_is_none(self, data: str, waits: bool) -> None:
        fail(Unreadable, [stream(f"event: state\ndata: {data}\n\n".encode())], waits, "follow_task", TASK)

    def test_a_page_of_some_proxy(self, waits: bool) -> None:
        fail(Unreachable, [httpx2.Response(200, text="<html>") for _ in range(4)], waits, "follow_task", TASK)


def file_of(*chunks: bytes, broken: bool = False) -> httpx2.Response:
    def parts():
        yield from chunks
        if broken:
            raise httpx2.ReadError("the cable")

    return httpx2.Response(200, stream=Chunks(parts))


@BOTH
class TestLines:
    def test_a_file_comes_as_it_is(self, waits: bool) -> None:
        parts = file_of(b'{"size": 1}\n{"hea', 'der": "a\u2028b"}\n'.encode())
        found, server = ask([parts], waits, "export_ledger", UUID(int=1))
        assert found == ['{"size": 1}', '{"header": "a\u2028b"}']
        assert server.asked[0].headers["Accept"] == "application/x-ndjson"

    @pytest.mark.parametrize(("rest", "broken"), [(b"", True), (b'{"b"', False)])
    def test_half_a_file_is_none(self, rest: bytes, broken: bool, waits: bool) -> None:
        cut = file_of(b'{"a": 1}\n', rest, broken=broken)
        error, _ = fail(Unreachable, [cut], waits, "export_ledger", UUID(int=1))
        assert "after 1 lines" in str(error)

    def test_a_refusal(self, waits: bool) -> None:
        fail(Forbidden, [refusal(403, "forbidden")], waits, "export_ledger", UUID(int=1))

    def test_no_connection(self, waits: bool) -> None:
        server = Server([httpx2.ConnectError("no")])
        with pytest.raises(Unreachable):
            Both(server, waits=waits).call("export_ledger", UUID(int=1))
