"""What is asked of the server and how its answers are taken, over a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest

from tests.core.sync.test_manifest import answer, row
from tikitaka.authz.tokens import Credential
from tikitaka.sync import server as module
from tikitaka.sync.folder import Held
from tikitaka.sync.manifest import BadAnswer
from tikitaka.sync.server import Refused, Server, Unanswered

AGENT = UUID(int=7)
TOKEN = str(Credential("0" * 12, "A" * 43))


class Fake:
    """Answers whatever it was told to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.reply: tuple[int, dict[str, str], bytes] = (200, {}, json.dumps(answer(row())).encode())
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, content = fake.reply
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def fake() -> Iterator[Fake]:
    found = Fake()
    yield found
    found.close()


def ask(fake: Fake, *, known: str = "") -> Any:
    return Server(fake.address + "/", AGENT, TOKEN).fetch(known=known, wait_s=3)


def test_asks_for_the_agents_manifest_with_its_token(fake: Fake) -> None:
    assert ask(fake).files[0].content == "text"
    ((method, path, headers, _),) = fake.asked
    assert (method, path) == ("GET", f"/api/v1/agents/{AGENT}/workspace?wait_s=3")
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert "If-None-Match" not in headers


def test_says_which_manifest_it_has(fake: Fake) -> None:
    fake.reply = (304, {}, b"")
    assert ask(fake, known="a" * 64) is None
    assert fake.asked[0][2]["If-None-Match"] == '"' + "a" * 64 + '"'


def test_a_report_gives_paths_and_digests(fake: Fake) -> None:
    fake.reply = (200, {}, json.dumps({"wrong": [{"path": "AGENTS.md"}, {"path": "another\x1b[2J"}]}).encode())
    held = {"AGENTS.md": Held(digest="b" * 64), "x": Held(digest="", fault="link")}
    wrong = Server(fake.address, AGENT, TOKEN).report("a" * 64, held)
    assert wrong == ["AGENTS.md"], "only paths that were asked about come back"
    ((method, path, _, body),) = fake.asked
    assert (method, path) == ("POST", f"/api/v1/agents/{AGENT}/workspace/report")
    assert json.loads(body) == {
        "version": "a" * 64,
        "files": [
            {"path": "AGENTS.md", "digest": "b" * 64, "fault": ""},
            {"path": "x", "digest": "", "fault": "link"},
        ],
    }


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(fake: Fake, status: int) -> None:
    other = Fake()
    fake.reply = (status, {"Location": other.address}, b"")
    with pytest.raises(Refused):
        ask(fake)
    with pytest.raises(Refused):
        Server(fake.address, AGENT, TOKEN).report("a" * 64, {})
    assert other.asked == [], "the token is for one server"
    other.close()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405])
def test_a_refusal_is_final(fake: Fake, status: int) -> None:
    fake.reply = (status, {}, json.dumps({"code": "not_found", "detail": "secret words"}).encode())
    with pytest.raises(Refused) as refused:
        ask(fake)
    assert refused.value.detail == f"status {status} not_found"


def test_so_is_an_agent_that_works_on_the_server(fake: Fake) -> None:
    fake.reply = (409, {}, b'{"code": "workspace_not_remote"}')
    with pytest.raises(Refused):
        ask(fake)


@pytest.mark.parametrize(
    ("status", "header", "after"), [(409, "", 0), (429, "7", 7), (500, "x", 0), (502, "99999", 0), (503, "5", 5)]
)
def test_anything_else_may_pass(fake: Fake, status: int, header: str, after: int) -> None:
    fake.reply = (status, {"Retry-After": header} if header else {}, b'{"code": "Words \\u001b[2J"}')
    with pytest.raises(Unanswered) as problem:
        ask(fake)
    assert (problem.value.after_s, problem.value.detail) == (after, f"status {status}"), "a code is one word or none"


def test_so_may_a_server_that_is_away(fake: Fake) -> None:
    fake.close()
    with pytest.raises(Unanswered) as problem:
        ask(fake)
    assert TOKEN not in str(problem.value)


def test_an_answer_is_read_up_to_a_bound(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_BYTES_MAX", 10)
    with pytest.raises(BadAnswer, match="too large"):
        ask(fake)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"wrong": 1}', b'{"wrong": [1]}', b'{"wrong": [{}]}'])
def test_an_answer_to_a_report_that_is_none(fake: Fake, body: bytes) -> None:
    fake.reply = (200, {}, body)
    with pytest.raises(BadAnswer):
        Server(fake.address, AGENT, TOKEN).report("a" * 64, {"AGENTS.md": Held(digest="b" * 64)})
