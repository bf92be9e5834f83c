"""What a call over MCP costs beside the least that a tool can be, both over stdio with the official client.

Prints one JSON line: milliseconds of the median call of a tool that answers a constant; as ratios to it the median of
`my_notes` (three that landed, whose files are looked at), `my_context` and `report_progress` (durable); and seconds
from start to the first answer of both.
Data on a memory file system where there is one; on PostgreSQL when DATABASE_URL names an empty database there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_BARE = """
from pydantic import BaseModel
from mcp.server import MCPServer
class Answer(BaseModel):
    ok: bool
server = MCPServer("bare", log_level="WARNING")
@server.tool()
def nothing() -> Answer:
    return Answer(ok=True)
server.run("stdio")
"""
_SET_UP = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.conf import settings
from apps.accounts.models import User
from apps.accounts.selectors import principal_of
from apps.accounts.services.members import set_role
from apps.accounts.services.organizations import found_organization
from apps.conductor import external, story
from apps.conductor.teams import register_agent
from apps.memory.services import review
from apps.memory.services.review import NoteText
from apps.teams.services.teams import create_team
from tikitaka.authz import Role
user = User.objects.create_user(username="bench")
owner = principal_of(user)
team = create_team(actor=owner, organization=found_organization(actor=owner, name="Bench", owner=user), name="Bench")
agents = [register_agent(actor=owner, team=team, name=name, runtime="external").pk for name in ("One", "Two")]
judge = User.objects.create_user(username="reviewer")
set_role(actor=owner, organization=team.organization, user=judge, role=Role.REVIEWER)
for number in range(3):
    text = NoteText(content=f"Fact {number} of the bench.", description="When benching", skill_key=f"bench-{number}")
    note = review.write_note(actor=owner, team=team, text=text, policy=settings.TIKITAKA_POLICY)
    note = review.edit(actor=owner, note=note, shown_digest=note.content_digest, policy=settings.TIKITAKA_POLICY,
                       recipients=agents)
    review.approve(actor=principal_of(judge), note=note, shown_digest=note.content_digest)
    story.land(note.pk)
story.submit(actor=owner, team=team, prompt="bench", plan=[{"agentIndex": 1, "instruction": "work"}])
print(external.lease_node(actor=owner, team=team).token)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=150, help="of each tool in each round")
    options = parser.parse_args()
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="tikitaka-bench-", dir=memory if memory.is_dir() else None))
    try:
        print(json.dumps(asyncio.run(measure(environment(folder), options.rounds, options.calls))))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(folder: Path) -> dict[str, str]:
    (folder / "data").mkdir()
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        "TIKITAKA_DATA": str(folder / "data"),
        "TIKITAKA_EMBEDDER": "off",
        "TIKITAKA_POLICY_LEASE_S": "600",
    }
    made = subprocess.run(
        [sys.executable, "-c", _SET_UP], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    return {**env, "TIKITAKA_TOKEN": made.stdout.split()[-1]}


async def measure(env: dict[str, str], rounds: int, calls: int) -> dict[str, Any]:
    from mcp import Client, StdioServerParameters

    bare = StdioServerParameters(command=sys.executable, args=["-c", _BARE], env=env, cwd=ROOT)
    ours = StdioServerParameters(command=sys.executable, args=["manage.py", "mcp"], env=env, cwd=ROOT)
    starts: dict[str, list[float]] = {"bare": [], "ours": []}
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        async with AsyncExitStack() as stack:
            clients = {}
            for name, server in (("bare", bare), ("ours", ours)):
                began = time.perf_counter()
                clients[name] = await stack.enter_async_context(Client(server))
                await clients[name].list_tools()
                starts[name].append(time.perf_counter() - began)
            for number in range(calls):  # in turn, so that all of them meet the same machine
                times["nothing"].append(await called(clients["bare"], "nothing", {}))
                times["my_notes"].append(await called(clients["ours"], "my_notes", {}))
                times["my_context"].append(await called(clients["ours"], "my_context", {}))
                if number % 5 == 0:  # an attempt may report 500 times
                    times["report_progress"].append(await called(clients["ours"], "report_progress", {"summary": "x"}))
    floor = statistics.median(times.pop("nothing"))
    ratios = {f"{tool}_over_bare": round(statistics.median(found) / floor, 2) for tool, found in times.items()}
    seconds = {f"start_{name}_s": round(statistics.median(found), 2) for name, found in starts.items()}
    return {"rounds": rounds, "bare_ms": round(floor * 1_000, 2), **ratios, **seconds}


async def called(client: Any, tool: str, arguments: dict[str, Any]) -> float:
    """Seconds that one call took."""
    began = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    found = time.perf_counter() - began
    if result.is_error or (tool == "my_notes" and len(result.structured_content["notes"]) != 3):
        raise SystemExit(f"{tool}: {result.content[0].text}")
    return found


if __name__ == "__main__":
    sys.path.pop(0)  # this file must not be taken for the library of its name
    main()
