"""The MCP door with the command lines of real agents, set up with the very lines that the README gives."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.memory.models import Note
from tests.agents.responses import model_that_calls
from tests.doors.conftest import Stage, set_up
from tests.support.cast import Cast
from tests.support.machines import agent_token, attempt_token
from tests.support.processes import ROOT, environment, serving

pytestmark = pytest.mark.django_db(transaction=True)
PROGRAMS = ROOT / ".programs" / "node_modules" / ".bin"
README = (ROOT / "README.md").read_text()


PROVIDER = """
model = "mock"
model_provider = "mock"
approval_policy = "never"

[model_providers.mock]
name = "mock"
base_url = "ADDRESS"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 0

"""
TOOLS = ("my_context", "my_notes", "propose_note", "report_progress")


@pytest.fixture
def stage(committed_cast: Cast) -> Stage:
    return set_up(committed_cast)


def block(language: str, word: str) -> str:
    """The block of the README in that language which holds `word`."""
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL) if word in text]
    assert len(found) == 1, f"the README has {len(found)} blocks with {word}"
    return str(found[0])


def filled(text: str, token: str, address: str = "") -> str:
    """What the README leaves to the reader: where the checkout is, the token, the address."""
    text = text.replace("/path/to/tikitaka/.venv/bin/python", sys.executable).replace("/path/to/tikitaka", str(ROOT))
    return text.replace("tk_…", token).replace("http://127.0.0.1:8000", address or "http://127.0.0.1:8000")


def program(name: str) -> str:
    path = PROGRAMS / name
    assert path.exists(), f"{name} is not installed: run scripts/agent-programs"
    return str(path)


def run(words: list[str], home: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    env = {**environment(), "HOME": str(home), "CODEX_HOME": str(home / ".codex"), "PATH": os.environ["PATH"], **more}
    return subprocess.run(
        words, cwd=home, env=env, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("my_context", {}),
        ("propose_note", {"statement": "Staging is rebuilt on Mondays.", "when_useful": "when staging is gone"}),
    ],
)
def test_codex_over_stdio(tool: str, arguments: dict[str, Any], stage: Stage, tmp_path: Path) -> None:
    attempt = stage.rows["tasks.attempt"]
    config = filled(block("toml", "mcp_servers.tikitaka"), attempt_token(attempt))  # type: ignore[arg-type]
    variables = {key: value for key, value in environment().items() if value != os.environ.get(key)}
    shared = ", ".join(f"{key} = {json.dumps(value)}" for key, value in variables.items())
    config = re.sub(r"env = \{ ", f"env = {{ {shared}, ", config)  # the test's database instead of the demo's
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    with model_that_calls(f"mcp__tikitaka__{tool}", arguments) as model:
        provider = PROVIDER.replace("ADDRESS", model.address)
        (home / ".codex" / "config.toml").write_text(provider + config)
        ended = run(
            [program("codex"), "exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "go"],
            home,
            MOCK_KEY="any",
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    offered = {item.get("name") for item in model.requests[0]["tools"]}
    assert {
        f"mcp__tikitaka__{name}" for name in ("my_context", "my_notes", "propose_note", "report_progress")
    } <= offered
    answers = [item for item in model.requests[1]["input"] if item.get("type") == "function_call_output"]
    assert len(answers) == 1
    if tool == "my_context":
        assert "shown to the agent" in json.dumps(answers)
    else:
        assert Note.objects.get(source="proposed").cited_attempts.get() == attempt


def test_claude_over_stdio(stage: Stage, tmp_path: Path) -> None:
    token = agent_token(stage.cast.owner, stage.cast.agents["backend"])
    (line,) = [line for line in block("sh", "claude mcp add").splitlines() if "--env" in line]
    words = shlex.split(filled(line, token))
    database = [
        word
        for key, value in environment().items()
        if value != os.environ.get(key)
        for word in ("--env", f"{key}={value}")
    ]
    place = words.index("--env")
    added = run([program("claude"), *words[1:place], *database, *words[place:]], tmp_path)
    assert added.returncode == 0, added.stdout + added.stderr
    assert_connected(tmp_path)


def test_claude_over_http(stage: Stage, tmp_path: Path) -> None:
    token = agent_token(stage.cast.owner, stage.cast.agents["backend"])
    (line,) = [line for line in block("sh", "claude mcp add").splitlines() if "--transport http" in line]
    with serving() as base:
        added = run([program("claude"), *shlex.split(filled(line, token, base))[1:]], tmp_path)
        assert added.returncode == 0, added.stdout + added.stderr
        assert_connected(tmp_path)


def assert_connected(home: Path) -> None:
    listed = run([program("claude"), "mcp", "list"], home)
    assert re.search(r"tikitaka: .*Connected", listed.stdout), listed.stdout + listed.stderr
