"""Language models against a server on loopback that answers as real ones do."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.providers.language import language_model
from apps.providers.language.openai import OpenAiModel
from apps.providers.language.replay import ReplayModel
from tikitaka.notes.request import NOTES_SCHEMA
from tikitaka.planning.areas import DEFAULT_AREAS
from tikitaka.planning.plan import Accepted, Rejected, parse_plan
from tikitaka.planning.prompt import PLAN_SCHEMA
from tikitaka.policy import DEFAULT
from tikitaka.ports import ModelRequest

REQUEST = ModelRequest(purpose="plan", system="s", user="the user's words", schema={"type": "object"}, timeout_s=5)
PLAN = json.dumps({"nodes": [{"agentIndex": 1, "instruction": "x"}]})


class Server:
    """Answers each request by the next of `answers`, a (status, body) pair or a function of the request."""

    def __init__(self, *answers) -> None:
        self.asked: list[dict] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body)
                answer = answers[min(len(outer.asked), len(answers)) - 1]
                status, content = answer(body) if callable(answer) else answer
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def completion(content: str | None, finish: str = "stop", **message) -> dict:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


@pytest.fixture
def serve():
    servers = []

    def start(*answers) -> Server:
        servers.append(Server(*answers))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def ask(server: Server, timeout_s: int = 5):
    request = ModelRequest(purpose="plan", system="s", user="u", schema={"type": "object"}, timeout_s=timeout_s)
    return OpenAiModel(url=server.url, name="m", key="k").complete(request)


class TestOpenAi:
    def test_a_good_answer_with_its_tokens(self, serve) -> None:
        server = serve((200, completion(PLAN)))
        reply = ask(server)
        assert isinstance(parse_plan(reply.body, agents=2, areas=list(DEFAULT_AREAS), policy=DEFAULT), Accepted)
        assert (reply.input_tokens, reply.output_tokens) == (11, 7)
        assert server.asked[0]["response_format"]["type"] == "json_schema"

    @pytest.mark.parametrize("schema", [PLAN_SCHEMA, NOTES_SCHEMA], ids=["plan", "notes"])
    def test_the_schemas_of_the_product_reach_the_server(self, serve, schema) -> None:
        server = serve((200, completion(PLAN)))
        request = ModelRequest(purpose="extract", system="s", user="u", schema=schema, timeout_s=5)
        reply = OpenAiModel(url=server.url, name="m", key="").complete(request)
        assert reply.failure is None
        assert json.dumps(server.asked[0]["response_format"]["json_schema"]["schema"])

    def test_a_call_that_breaks_is_no_timeout(self, serve) -> None:
        server = serve((200, completion(PLAN)))
        request = ModelRequest(purpose="plan", system="s", user="u", schema={"type": object()}, timeout_s=5)
        assert OpenAiModel(url=server.url, name="m", key="").complete(request).failure == "http_error"

    def test_a_server_that_refuses_the_format_is_asked_once_more_without(self, serve) -> None:
        refusal = (400, {"error": {"message": "response_format json_schema is not supported", "type": "bad"}})
        server = serve(refusal, (200, completion(PLAN)))
        assert ask(server).failure is None
        assert ["response_format" in body for body in server.asked] == [True, False]

    def test_another_bad_request_is_not_repeated(self, serve) -> None:
        server = serve((400, {"error": {"message": "no such model", "type": "bad"}}))
        reply = ask(server)
        assert (reply.failure, reply.body["status"]) == ("http_error", 400)
        assert len(server.asked) == 1

    @pytest.mark.parametrize("status", [401, 429, 500, 503])
    def test_errors_are_values(self, serve, status: int) -> None:
        server = serve((status, {"error": {"message": "no", "type": "x"}}))
        assert ask(server).failure == "http_error"
        assert len(server.asked) == 1

    def test_a_slow_server_is_a_timeout(self, serve) -> None:
        released = threading.Event()
        server = serve(lambda body: (released.wait(10), (200, completion(PLAN)))[1])
        reply = ask(server, timeout_s=1)
        released.set()
        assert reply.failure == "timeout"

    def test_nobody_there_is_an_error(self) -> None:
        model = OpenAiModel(url="http://127.0.0.1:9/v1", name="m", key="")
        assert model.complete(REQUEST).failure == "http_error"

    def test_the_reasoning_field_is_never_read(self, serve) -> None:
        server = serve((200, completion(None, reasoning_content=PLAN)))
        found = parse_plan(ask(server).body, agents=2, areas=list(DEFAULT_AREAS), policy=DEFAULT)
        assert isinstance(found, Rejected)
        assert found.reason == "empty_content"

    def test_without_address_it_does_not_start(self) -> None:
        with pytest.raises(ImproperlyConfigured, match="TIKITAKA_MODEL_URL"):
            language_model("openai")


class TestReplay:
    def test_finds_the_answer_by_what_is_asked_and_gives_it_again(self, tmp_path) -> None:
        answer = {"status": 200, "finish_reason": "stop", "message": {"content": PLAN}, "usage": {"prompt_tokens": 3}}
        (tmp_path / "plan-1.json").write_text(json.dumps({"when": "something else", "reply": {}}))
        (tmp_path / "plan-2.json").write_text(json.dumps({"when": "user's words", "reply": answer}))
        model = ReplayModel(tmp_path)
        assert model.complete(REQUEST) == model.complete(REQUEST)
        assert model.complete(REQUEST).body == answer
        assert model.complete(REQUEST).input_tokens == 3

    def test_without_an_answer_it_says_so(self, tmp_path) -> None:
        assert ReplayModel(tmp_path).complete(REQUEST).failure == "http_error"
