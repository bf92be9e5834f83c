"""A receiver of webhooks on this machine: real sockets, and behavior of every kind, good and hostile."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Behavior = Callable[[BaseHTTPRequestHandler], None]


class Received:
    """One call as it came: names of headers in lower case, the very bytes."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self.path, self.body = handler.path, body
        self.headers = {name.lower(): value for name, value in handler.headers.items()}

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    """Answers with `behavior`, which may be changed at any time; `peak` is the most calls that were inside at once."""

    def __init__(self, behavior: Behavior, tls: ssl.SSLContext | None = None) -> None:
        self.behavior = behavior
        self.calls: list[Received] = []
        self.peak = self._inside = 0
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._take(self)

            def do_GET(self) -> None:
                receiver._take(self)

            def log_message(self, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.poured = 0  # type: ignore[attr-defined]
        self._server.handle_error = lambda *args: None  # type: ignore[method-assign]
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/in"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def poured(self) -> int:
        return self._server.poured  # type: ignore[attr-defined, no-any-return]

    def ids(self) -> list[str]:
        return [call.id for call in self.calls]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(120)

    def _take(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        with self._lock:
            self.calls.append(Received(handler, body))
            self._inside += 1
            self.peak = max(self.peak, self._inside)
        try:
            with suppress(ConnectionError, TimeoutError):
                self.behavior(handler)
        finally:
            with self._lock:
                self._inside -= 1


@contextmanager
def receiving(behavior: Behavior | None = None, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver(behavior or answering(204), tls)
    try:
        yield receiver
    finally:
        receiver.stop()


def answering(status: int, body: bytes = b"", after_s: float = 0.0, **headers: str) -> Behavior:
    def behave(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(after_s)
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def pouring(handler: BaseHTTPRequestHandler) -> None:
    """An answer of a gigabyte, as fast as it can; `poured` of the receiver says how much got out."""
    handler.send_response(200)
    handler.end_headers()
    block = b"x" * 65_536
    for _ in range(2**30 // len(block)):
        handler.wfile.write(block)
        handler.server.poured += len(block)  # type: ignore[attr-defined]


def dripping(handler: BaseHTTPRequestHandler) -> None:
    """A header that never ends, one byte at a time: no single read ever waits for long."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(600):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def nonsense(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"220 mail.invalid ESMTP\r\n")


def hanging_up(handler: BaseHTTPRequestHandler) -> None:
    """Closes without an answer."""
    handler.close_connection = True
