"""What scheduling costs: no-op graphs through the embedded runner, data on a memory file system where there is one.

Prints one JSON line: milliseconds per node for graphs of 8, 100 and 1 000 nodes, the delay from a node's last
dependency to its start, and wall time over critical path when one branch is four times longer than the others.
Where langgraph and its SQLite saver are installed, the same graphs run through them in the same rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import operator
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

ROOT = Path(__file__).resolve().parents[1]
SIZES = (8, 100, 1_000)
AGENTS = 8
SECONDS = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    options = parser.parse_args()
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="tikitaka-bench-", dir=memory if memory.is_dir() else None))
    try:
        print(json.dumps(measure(folder, options.rounds, options.sizes)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, rounds: int, sizes: list[int]) -> dict:
    ours = Ours(folder)
    ours.run(layered(AGENTS), _no_time)  # threads and connections are up before anything is timed
    peer = peer_of(folder)
    result: dict = {"file_system": "memory" if str(folder).startswith("/dev/shm") else "disk", "rounds": rounds}
    for size in sizes:
        graph = layered(size)
        times: dict[str, list[float]] = {"tikitaka": [], "langgraph": []}
        delays: list[float] = []
        for _ in range(rounds):
            wall, late = ours.run(graph, _no_time)
            times["tikitaka"].append(wall / size * 1000)
            delays += late
            if peer:
                times["langgraph"].append(peer(graph, _no_time) / size * 1000)
        result[f"ms_per_node_{size}"] = summary(times)
        result[f"delay_ms_{size}"] = {
            "p50": round(statistics.median(delays) * 1000, 2),
            "p99": round(sorted(delays)[int(len(delays) * 0.99)] * 1000, 2),
        }
    result["wall_over_critical_path"] = skewed(ours, peer, rounds)
    return result


def _no_time(_: int) -> float:
    return 0.0


def skewed(ours: Ours, peer: Callable | None, rounds: int) -> dict:
    """Four branches of three nodes between start and join; the first node of one branch takes four times as long."""
    graph: dict[int, list[int]] = {1: []}
    number = 2
    ends = []
    for _ in range(4):
        previous = 1
        for _ in range(3):
            graph[number] = [previous]
            previous = number
            number += 1
        ends.append(previous)
    graph[number] = ends
    seconds = dict.fromkeys(graph, SECONDS) | {2: SECONDS * 4}
    critical = SECONDS * (1 + 4 + 2 + 1)
    ratios: dict[str, list[float]] = {"tikitaka": [], "langgraph": []}
    for _ in range(rounds):
        ratios["tikitaka"].append(ours.run(graph, seconds.get)[0] / critical)
        if peer:
            ratios["langgraph"].append(peer(graph, seconds.get) / critical)
    return summary(ratios)


def layered(size: int) -> dict[int, list[int]]:
    """Layers of eight (of two in the smallest graph); a node depends on two places of the layer above."""
    width = AGENTS if size > AGENTS else 2
    graph: dict[int, list[int]] = {}
    for index in range(1, size + 1):
        layer, place = divmod(index - 1, width)
        above = {(layer - 1) * width + place + 1, (layer - 1) * width + (place + 1) % width + 1}
        graph[index] = sorted(above) if layer else []
    return graph


def summary(values: dict[str, list[float]]) -> dict[str, float]:
    return {name: round(statistics.median(found), 3) for name, found in values.items() if found}


class Ours:
    """A migrated database in `folder`, a team of eight agents, plans straight from the planner's rules."""

    def __init__(self, folder: Path) -> None:
        sys.path.insert(0, str(ROOT))
        os.environ |= {
            "TIKITAKA_DATA": str(folder / "data"),
            "TIKITAKA_EMBEDDER": "off",
            "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        }
        (folder / "data").mkdir()
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        from dataclasses import replace

        from tikitaka.policy import DEFAULT

        self.policy = replace(DEFAULT, plan_nodes_max=max(SIZES), width=8)
        self._team()
        from apps.conductor import wake as waking
        from apps.conductor.pool import EmbeddedPool

        self.pool = EmbeddedPool(policy=self.policy, runtimes=lambda _: self.runtime, slots=AGENTS)
        waking.bind(self.pool)

    def _team(self) -> None:
        from apps.accounts.models import User
        from apps.accounts.selectors import principal_of
        from apps.accounts.services.organizations import found_organization
        from apps.conductor.teams import register_agent
        from apps.teams.services.teams import create_team

        user = User.objects.create_user(username="bench")
        self.actor = principal_of(user)
        organization = found_organization(actor=self.actor, name="Bench", owner=user)
        areas = {f"area{n}": [f"code/area{n}/**"] for n in range(1, AGENTS + 1)}
        self.team = create_team(
            actor=self.actor,
            organization=organization,
            name="Bench",
            width=8,
            work_areas={"general": ["code/**"], **areas},
        )
        for number in range(1, AGENTS + 1):
            register_agent(actor=self.actor, team=self.team, name=f"Agent {number}", command=["none"])

    def run(self, graph: dict[int, list[int]], seconds: Callable[[int], float]) -> tuple[float, list[float]]:
        """Wall seconds of one graph, and for each node the seconds from its last dependency's end to its start."""
        from apps.conductor.wake import wake
        from apps.tasks.models import PlanNode, PlanSource
        from apps.tasks.services.plan import save_plan, start_planning
        from apps.tasks.services.submit import submit_task
        from apps.teams.selectors import active_agents
        from tikitaka.planning.plan import Accepted, validate_plan

        nodes = [
            {
                "agentIndex": (index - 1) % AGENTS + 1,
                "instruction": f"node {index}",
                "dependsOn": parents,
                "workArea": f"area{(index - 1) % AGENTS + 1}",
                "writeIntent": "write",
            }
            for index, parents in sorted(graph.items())
        ]
        plan = validate_plan(nodes, agents=AGENTS, areas=list(self.team.work_areas), policy=self.policy)
        assert isinstance(plan, Accepted), plan
        task = submit_task(actor=self.actor, team=self.team, prompt="bench").task
        start_planning(task=task.pk, policy=self.policy)
        save_plan(task=task, plan=plan, agents=list(active_agents(self.team.pk)), source=PlanSource.CALLER)
        runtime = self.runtime = NoOp(seconds)
        began = time.perf_counter()
        wake("dispatch", self.team.pk)
        assert self.pool.drain(300)
        wall = time.perf_counter() - began
        rows = {node.index: node for node in PlanNode.objects.filter(task=task)}
        assert {node.status for node in rows.values()} == {"completed"}
        late = [
            runtime.started[index] - max(runtime.ended[parent] for parent in node.depends_on)
            for index, node in rows.items()
            if node.depends_on
        ]
        return wall, late


class NoOp:
    """Does nothing for as long as it is told."""

    def __init__(self, seconds: Callable[[int], float]) -> None:
        self._seconds = seconds
        self.started: dict[int, float] = {}
        self.ended: dict[int, float] = {}

    def run(self, launch, *, on_line, cancelled):  # noqa: ARG002
        from tikitaka.ports import RunEnd

        index = int(launch.prompt.rsplit("node ", 1)[1].split()[0])
        self.started[index] = time.perf_counter()
        if pause := self._seconds(index):
            time.sleep(pause)
        self.ended[index] = time.perf_counter()
        return RunEnd(answer="done")


class State(TypedDict):
    """What the peer's nodes add to; at module level, where its type hints are read."""

    done: Annotated[list[int], operator.add]


def peer_of(folder: Path) -> Callable | None:
    """LangGraph with its SQLite saver, when both are installed."""
    if not (importlib.util.find_spec("langgraph") and importlib.util.find_spec("langgraph.checkpoint.sqlite")):
        return None
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    count = [0]

    def run(graph: dict[int, list[int]], seconds: Callable[[int], float]) -> float:
        def worker(index: int):
            def work(_: State) -> dict:
                if pause := seconds(index):
                    time.sleep(pause)
                return {"done": [index]}

            return work

        builder = StateGraph(State)
        children = {parent for parents in graph.values() for parent in parents}
        for index in graph:
            builder.add_node(str(index), worker(index))
        for index, parents in graph.items():
            builder.add_edge([str(parent) for parent in parents] if parents else START, str(index))
            if index not in children:
                builder.add_edge(str(index), END)
        count[0] += 1
        with sqlite3.connect(folder / f"peer-{count[0]}.sqlite3", check_same_thread=False) as connection:
            compiled = builder.compile(checkpointer=SqliteSaver(connection))
            began = time.perf_counter()
            config = {"configurable": {"thread_id": "bench"}, "recursion_limit": 2_000}
            compiled.invoke({"done": []}, config, durability="sync")
            return time.perf_counter() - began

    return run


if __name__ == "__main__":
    main()
