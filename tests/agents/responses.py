"""A model server on this machine that speaks as Codex expects: it asks for one tool, then says that it is done."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Model(ThreadingHTTPServer):
    """`requests` are the bodies that came, in order."""

    daemon_threads = True

    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tool, self.arguments = tool, arguments
        self.requests: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        first = not any(item.get("type") == "function_call_output" for item in body["input"])
        item = _call(self.server) if first else _message()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in _events(item, len(self.server.requests)):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        return


def _call(model: Model) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": model.tool,
        "arguments": json.dumps(model.arguments),
    }


def _message() -> dict[str, Any]:
    text = [{"type": "output_text", "text": "done", "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": text}


def _events(item: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    identity = f"resp_{number}"
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    yield {"type": "response.created", "response": {"id": identity}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": identity, "usage": usage}}


@contextmanager
def model_that_calls(tool: str, arguments: dict[str, Any]) -> Iterator[Model]:
    server = Model(tool, arguments)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)
