"""What scheduling costs: no-op graphs through the embedded runner, data on a memory file system where there is one.

Prints one JSON line: milliseconds per node for graphs of 8, 100 and 1 000 nodes, the delay from a node's last
dependency to its start, and wall time over critical path when one branch is four times longer than the others.
Where langgraph and its SQLite saver are installed, the same graphs run through them in the same rounds.

With `--production` the graphs run over Celery and Redis on PostgreSQL, in a worker process of its own; the servers are
those that DATABASE_URL and REDIS_URL name, and a database is made there for the time of the run.
"""

from __future__ import annotations

import argparse
import getpass
import importlib.util
import json
import operator
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypedDict
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parents[1]
SIZES = (8, 100, 1_000)
AGENTS = 8
SECONDS = 0.05
_LOOK_S = 0.0005


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--production", action="store_true", help="Celery, Redis and PostgreSQL instead of one process")
    parser.add_argument("--work", metavar="TIMES", help=argparse.SUPPRESS)  # how this file starts its own worker
    options = parser.parse_args()
    if options.work:
        return work(Path(options.work))
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="tikitaka-bench-", dir=memory if memory.is_dir() else None))
    try:
        with production(folder) if options.production else nullcontext():
            print(json.dumps(measure(folder, options.rounds, options.sizes, production=options.production)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, rounds: int, sizes: list[int], *, production: bool) -> dict:
    ours = Brokered(folder) if production else Ours(folder)
    ours.run(layered(AGENTS), _no_time)  # threads and connections are up before anything is timed
    peer = peer_of(folder)
    system = "memory" if str(folder).startswith("/dev/shm") else "disk"
    result: dict = {"binding": ours.binding, "file_system": ours.file_system or system, "rounds": rounds}
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

    binding = "embedded"
    file_system = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "data").mkdir()
        ready(folder)
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        self.policy = policy()
        self._team()
        self.start()

    def start(self) -> None:
        """Readies whatever runs the nodes."""
        from apps.conductor import wake as waking
        from apps.conductor.pool import EmbeddedPool

        self.runtime = NoOp()
        self.pool = EmbeddedPool(policy=self.policy, runtimes=lambda _: self.runtime, slots=AGENTS)
        waking.bind(self.pool)

    def finish(self, task) -> None:  # noqa: ARG002
        """Waits until everything about the task is written."""
        assert self.pool.drain(300)

    def times(self) -> tuple[dict[int, float], dict[int, float]]:
        """When the nodes of the last graph began and ended."""
        return self.runtime.started, self.runtime.ended

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
                "instruction": f"node {index} {seconds(index)}",
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
        began = time.monotonic()
        wake("dispatch", self.team.pk)
        self.finish(task)
        wall = time.monotonic() - began
        started, ended = self.times()
        rows = {node.index: node for node in PlanNode.objects.filter(task=task)}
        assert {node.status for node in rows.values()} == {"completed"}
        late = [
            started[index] - max(ended[parent] for parent in node.depends_on)
            for index, node in rows.items()
            if node.depends_on
        ]
        return wall, late


class Brokered(Ours):
    """The same over the broker: this process asks, a worker runs, the database says when it is done."""

    binding = "celery"
    file_system = "the server's"

    def start(self) -> None:
        self._read = 0

    def finish(self, task) -> None:
        from apps.tasks.models import Task

        deadline = time.monotonic() + 300
        nodes = task.nodes.count()
        while self._lines() < self._read + nodes:  # asking the database all the time would slow it down
            assert time.monotonic() < deadline, "the graph did not end"
            time.sleep(_LOOK_S)
        while not Task.objects.filter(pk=task.pk, settled_at__isnull=False).exists():
            assert time.monotonic() < deadline, "the task did not settle"
            time.sleep(_LOOK_S)

    def _lines(self) -> int:
        file = self.folder / "times"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def times(self) -> tuple[dict[int, float], dict[int, float]]:
        lines = (self.folder / "times").read_text().splitlines()
        rows = [line.split() for line in lines[self._read :]]
        self._read = len(lines)
        return {int(i): float(t) for i, t, _ in rows}, {int(i): float(t) for i, _, t in rows}


@contextmanager
def production(folder: Path) -> Iterator[None]:
    """A database of its own on the server, and one worker process for nodes and everything else."""
    import psycopg

    server = os.environ.get("DATABASE_URL", f"postgres://{getpass.getuser()}@127.0.0.1:5432/test")
    name = f"bench_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        os.environ |= {
            "DATABASE_URL": urlunsplit(urlsplit(server)._replace(path=f"/{name}")),
            "TIKITAKA_BROKER_URL": os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/9"),
            "TIKITAKA_BROKER_PREFIX": f"{name}:",
        }
        worker = subprocess.Popen(
            [sys.executable, __file__, "--work", str(folder / "times")], stderr=subprocess.DEVNULL
        )
        try:
            yield
        finally:
            worker.kill()
            worker.wait()
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def work(times: Path) -> None:
    """The worker of `--production`: the product's own, with a runtime that does nothing."""
    ready(times.parent)
    from apps.conductor import nodes
    from apps.conductor.broker import BROKER, app

    runtime = NoOp(times)
    nodes.use(nodes.NodeWorker(BROKER, policy=policy(), runtimes=lambda _: runtime, slots=AGENTS))
    app.worker_main(["worker", "-Q", "nodes,control,flush", "-P", "threads", "-c", "2", "-l", "ERROR"])


def ready(folder: Path) -> None:
    """Django on the data of this run."""
    sys.path.insert(0, str(ROOT))
    os.environ |= {
        "TIKITAKA_DATA": str(folder / "data"),
        "TIKITAKA_EMBEDDER": "off",
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
    }
    import django

    django.setup()


def policy():
    """Graphs larger than a planner may make."""
    from tikitaka.policy import DEFAULT

    return replace(DEFAULT, plan_nodes_max=max(SIZES), width=8)


class NoOp:
    """Does nothing for as long as its node says; keeps when, in memory or as lines of a file."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file.open("a", buffering=1) if file else None
        self.started: dict[int, float] = {}
        self.ended: dict[int, float] = {}

    def run(self, launch, *, on_line, cancelled):  # noqa: ARG002
        from tikitaka.ports import RunEnd

        index, seconds = launch.prompt.rsplit("node ", 1)[1].split()[:2]
        began = self.started[int(index)] = time.monotonic()
        if float(seconds):
            time.sleep(float(seconds))
        ended = self.ended[int(index)] = time.monotonic()
        if self._file:
            self._file.write(f"{index} {began} {ended}\n")
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
