"""A server of the test's own behind both clients: it answers from a script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2

from tikitaka.client import AsyncClient, Client, Patience

ADDRESS = "https://door.example"
TASK = UUID(int=1)
ATTEMPT = UUID(int=2)
NOW = "2026-03-01T09:14:00+00:00"
QUICK = Patience(tries=4, first_s=0.001, longest_s=0.002, asked_s=1)
LOST = httpx2.ReadError("the cable")


def token() -> str:
    """Made when it is needed, as every secret of a test."""
    return f"tk_{'0' * 12}_{'A' * 43}"


def answer(status: int = 200, body: Any = None, **headers: str) -> httpx2.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, json=body, headers=names)


def refusal(status: int, code: str, **headers: str) -> httpx2.Response:
    return answer(status, {"code": code, "detail": "so it is", "fields": {"a": "b"}, "facts": {"n": 1}}, **headers)


def stream(*events: bytes, broken: bool = False) -> httpx2.Response:
    def chunks() -> Iterator[bytes]:
        yield from events
        if broken:
            raise httpx2.ReadError("the cable")

    return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, stream=Chunks(chunks))


class Chunks(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, chunks: Callable[[], Iterator[bytes]]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks()

    async def __aiter__(self):
        for chunk in self._chunks():
            yield chunk


@dataclass
class Server:
    """`script`: what comes back, one after the other; a function is asked instead."""

    script: list[Any] | Callable[[httpx2.Request], httpx2.Response]
    asked: list[httpx2.Request] = field(default_factory=list)

    def _next(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        found = self.script(request) if callable(self.script) else self.script.pop(0)
        if isinstance(found, Exception):
            raise found
        if hasattr(found, "_content"):  # read by one client, it would not do for the next
            return httpx2.Response(found.status_code, headers=found.headers, content=found.content)
        return found

    def client(self, patience: Patience = QUICK, **more: Any) -> Client:
        return Client(ADDRESS, token(), patience=patience, transport=httpx2.MockTransport(self._next), **more)

    def async_client(self, patience: Patience = QUICK) -> AsyncClient:
        return AsyncClient(ADDRESS, token(), patience=patience, transport=httpx2.MockTransport(self._next))

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.asked if request.content]


class Both:
    """The same steps with either client, for tests that are about what both share."""

    def __init__(self, server: Server, *, waits: bool) -> None:
        self.client: Any = server.client() if waits else server.async_client()
        self._waits = waits

    def call(self, name: str, *args: Any, **named: Any) -> Any:
        """The answer, or all that an iterator gives."""
        found = getattr(self.client, name)(*args, **named)
        if self._waits:
            return list(found) if hasattr(found, "__next__") else found
        return asyncio.run(_all(found) if hasattr(found, "__anext__") else found)


async def _all(found: Any) -> list[Any]:
    return [item async for item in found]


def task(**more: Any) -> dict[str, Any]:
    return {
        "id": str(TASK),
        "team": str(UUID(int=3)),
        "prompt": "Build it.",
        "status": "queued",
        "plan_source": "",
        "plan_reasons": [],
        "plan_only": False,
        "submitted_by": None,
        "submitted_at": NOW,
        "started_at": None,
        "settled_at": None,
        "cancel_requested_at": None,
        "segment": None,
        "pruned_at": None,
        **more,
    }


def attempt(status: str) -> dict[str, Any]:
    return {
        "id": str(ATTEMPT),
        "task": str(TASK),
        "node": str(UUID(int=4)),
        "agent": str(UUID(int=5)),
        "number": 1,
        "status": status,
        "output": "",
        "error": "",
        "error_detail": "",
        "exit_code": None,
        "usage": {},
        "started_at": NOW,
        "finished_at": None,
    }


def lease(**more: Any) -> dict[str, Any]:
    envelope = {
        "agent": str(UUID(int=5)),
        "agent_name": "Remote",
        "role": "",
        "instruction": "do it",
        "expected_output": "",
        "work_area": "general",
        "globs": [],
        "writes": False,
        "depends_on": [],
    }
    return {
        "task": str(TASK),
        "node": str(UUID(int=4)),
        "index": 1,
        "attempt": str(ATTEMPT),
        "number": 1,
        "agent": str(UUID(int=5)),
        "prompt": "Build it.",
        "thread": None,
        "envelope": envelope,
        "token": f"tk_{'1' * 12}_{'B' * 43}",
        "expires_at": NOW,
        "heartbeat_s": 20,
        **more,
    }
