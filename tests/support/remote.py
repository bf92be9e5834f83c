"""An agent who works on another machine, and the program that keeps its folder there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from apps.conductor.teams import register_agent
from apps.teams.models import Agent
from tests.support.cast import Cast
from tests.support.processes import ROOT

# The program is run where Django cannot be imported.
WITHOUT_DJANGO = (
    "import sys, runpy\nsys.modules['django'] = None\nsys.modules['apps'] = None\n"
    "sys.argv[0] = 'sync'\nrunpy.run_module('tikitaka.sync', run_name='__main__')"
)


def remote_agent(cast: Cast, name: str = "Distant") -> Agent:
    """Joins the cast's team and is one of its agents from there on."""
    agent = register_agent(
        actor=cast.operator,
        team=cast.team,
        name=name,
        description="works far away",
        runtime="external",
        delivery="remote",
    )
    cast.agents[name.lower()] = agent
    return agent


def start_sync(
    server: str, agent: object, folder: Path, token: str, *options: str, before: str = ""
) -> subprocess.Popen[str]:
    """The program in a process of its own, with nothing of ours in its environment; `before` is run first."""
    arguments = ["--server", server, "--agent", str(agent), "--folder", str(folder), *options]
    return subprocess.Popen(
        [sys.executable, "-c", before + WITHOUT_DJANGO, *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TIKITAKA_TOKEN": token},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sync(server: str, agent: object, folder: Path, token: str, *options: str, before: str = "") -> tuple[int, str]:
    """The same once; its exit code and what it said."""
    process = start_sync(server, agent, folder, token, "--once", *options, before=before)
    output, errors = process.communicate(timeout=120)
    assert output == ""
    return process.returncode, errors
