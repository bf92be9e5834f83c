"""The MCP door over its two transports, with the official client, with one of an older version, and with none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import httpx2
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from apps.accounts.services.tokens import revoke_token
from apps.conductor.models import RefusedCalls
from apps.tasks.models import Attempt, Span
from tests.doors.conftest import Stage, set_up
from tests.support.cast import Cast
from tests.support.machines import agent_token, attempt_token, row_of, service_token
from tests.support.processes import ROOT, environment, serving

pytestmark = pytest.mark.django_db(transaction=True)
TOOLS = {"my_context", "my_notes", "propose_note", "report_progress"}


@pytest.fixture
def stage(committed_cast: Cast) -> Stage:
    return set_up(committed_cast)


@pytest.fixture
def token(stage: Stage) -> str:
    return attempt_token(stage.rows["tasks.attempt"])  # type: ignore[arg-type]


def stdio(token: str, **more: Any) -> Client:
    return Client(
        StdioServerParameters(
            command=sys.executable,
            args=[str(ROOT / "manage.py"), "mcp"],
            env={**environment(), "TIKITAKA_TOKEN": token},
            cwd=ROOT,
        ),
        **more,
    )


async def over_http(base: str, token: str, tool: str, arguments: dict[str, Any], **more: Any) -> Any:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(f"{base}/mcp/", http_client=http), **more) as client,
    ):
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        return await client.call_tool(tool, arguments)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_stdio(mode: str, stage: Stage, token: str) -> None:
    async def ask() -> Any:
        async with stdio(token, mode=mode) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            await client.call_tool("report_progress", {"summary": "from afar", "percent": 5})
            return await client.call_tool("my_context", {})

    result = async_to_sync(ask)()
    assert result.structured_content["text"] == "shown to the agent"
    assert Span.objects.filter(kind="progress").count() == 1


def test_a_token_that_is_revoked_meanwhile_ends_at_the_next_call(stage: Stage) -> None:
    own = agent_token(stage.cast.owner, stage.rows["teams.agent"])

    async def ask() -> tuple[Any, Any]:
        async with stdio(own) as client:
            before = await client.call_tool("my_context", {})
            await sync_to_async(lambda: revoke_token(actor=stage.cast.owner, token=row_of(own)))()
            return before, await client.call_tool("my_context", {})

    before, after = async_to_sync(ask)()
    assert not before.is_error
    assert after.is_error
    assert "not_authenticated" in after.content[0].text


def test_without_a_good_token_it_does_not_start(stage: Stage) -> None:
    for wrong in ("", "tk_nonsense", service_token(stage.cast.owner, stage.cast.organization)):
        program = subprocess.run(
            [sys.executable, "manage.py", "mcp"],
            check=False,
            cwd=ROOT,
            env={**environment(), "TIKITAKA_TOKEN": wrong},
            input="",
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert program.returncode == 1
        assert "TIKITAKA_TOKEN" in program.stderr
        assert not program.stdout
        if wrong:
            assert wrong not in program.stderr


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http(mode: str, stage: Stage, token: str) -> None:
    with serving() as base:
        result = async_to_sync(over_http)(base, token, "my_context", {}, mode=mode)
        assert result.structured_content["text"] == "shown to the agent"
        other = agent_token(stage.cast.owner, stage.cast.agents["frontend"])
        refused = async_to_sync(over_http)(base, other, "my_context", {})
        assert "no_attempt_running" in refused.content[0].text


def test_two_callers_at_once_are_two(stage: Stage) -> None:
    """No request sees who asked another one."""
    mine = Attempt.objects.filter(task__team=stage.cast.team).order_by("fence")
    tokens = {str(attempt.pk): attempt_token(attempt) for attempt in mine}
    with serving() as base:

        async def ask() -> list[tuple[str, Any]]:
            import asyncio

            async def one(attempt: str, token: str) -> tuple[str, Any]:
                return attempt, await over_http(base, token, "report_progress", {"summary": attempt})

            return await asyncio.gather(*(one(a, t) for _ in range(8) for a, t in tokens.items()))

        results = async_to_sync(ask)()
    assert not any(result.is_error for _, result in results)
    for attempt in tokens:
        assert set(Span.objects.filter(attempt=attempt, kind="progress").values_list("text", flat=True)) == {attempt}
        assert Span.objects.filter(attempt=attempt, kind="progress").count() == 8


def test_who_is_refused_before_the_protocol_is_looked_at(stage: Stage, token: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    good = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    machine = service_token(stage.cast.owner, stage.cast.organization)
    with serving() as base, httpx2.Client() as http:

        def post(content: bytes | None = None, **headers: str) -> httpx2.Response:
            sent = json.dumps(call).encode() if content is None else content
            return http.post(
                f"{base}/mcp/", content=sent, headers={"Content-Type": "application/json", **good, **headers}
            )

        for wrong in ("", "Bearer tk_x", f"Bearer {machine}", f"Basic {token}"):
            answer = post(Authorization=wrong)
            assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert post(Host="evil.example").status_code == 421
        assert post(Origin="https://evil.example").status_code == 403
        assert post(Origin=base).status_code == 200
        assert post(b"x" * (2 * 1024 * 1024)).status_code in (400, 413)
        for raw in (b"{", b"[]", b"null", b"[" * 50_000, b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'):
            assert post(raw).status_code < 500, raw[:20]
        deadline = time.monotonic() + 90
        while not RefusedCalls.objects.filter(door="mcp").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert RefusedCalls.objects.get(door="mcp").count >= 1


def test_a_client_of_the_year_before(stage: Stage, token: str) -> None:
    """By hand, as version 2025-06-18 spoke: initialize, then list and call."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    with serving() as base, httpx2.Client(headers=headers, base_url=base) as http:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        }
        first = http.post("/mcp/", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).json()
        assert first["result"]["protocolVersion"] == "2025-06-18"
        assert first["result"]["instructions"]
        versioned = {"MCP-Protocol-Version": "2025-06-18"}
        done = http.post("/mcp/", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=versioned)
        assert done.status_code == 202
        call = {"name": "my_context", "arguments": {}}
        answer = http.post(
            "/mcp/", json={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}, headers=versioned
        ).json()
        assert answer["result"]["structuredContent"]["text"] == "shown to the agent"
        assert json.loads(answer["result"]["content"][0]["text"])["text"] == "shown to the agent"


def test_the_rest_of_the_site_is_still_there(stage: Stage) -> None:
    with serving() as base, httpx2.Client() as http:
        assert http.get(f"{base}/healthz").status_code == 200
        assert http.get(f"{base}/mcp/other").status_code == 404
        assert http.get(f"{base}/mcp").status_code == 401
    assert os.environ.get("TIKITAKA_TOKEN") is None
