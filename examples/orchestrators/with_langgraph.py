"""An orchestrator whose program is a LangGraph graph: every step of the graph is told as a span.

Needs the package langgraph. Set TIKITAKA_TOKEN as for plain.py, and name the team and the task to work on.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from tikitaka.client import Client, Job, work


class State(TypedDict, total=False):
    """What the steps hand on to each other."""

    prompt: str
    instruction: str
    findings: list[str]
    answer: str


def look(state: State) -> State:
    """In the place of a model that reads what the agent was shown."""
    shown = [line for line in state["prompt"].splitlines() if line.strip()]
    return {"findings": [f"{len(shown)} lines were shown"]}


def write(state: State) -> State:
    """In the place of a model that writes the answer."""
    return {"answer": f"Done: {state['instruction']} ({'; '.join(state['findings'])})"}


def graph() -> Any:
    """Two steps, one after the other."""
    built = StateGraph(State)
    built.add_node("look", look)
    built.add_node("write", write)
    built.add_edge(START, "look")
    built.add_edge("look", "write")
    built.add_edge("write", END)
    return built.compile()


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers the nodes of a team's external agents with a graph.")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--team", required=True, help="id of the team")
    parser.add_argument("--task", required=True, help="id of the task; it ends when this has settled")
    asked = parser.parse_args()
    program = graph()

    def answer(job: Job) -> str:
        said = ""
        start: State = {"prompt": job.prompt, "instruction": job.envelope.instruction}
        for update in program.stream(start, stream_mode="updates"):
            for step, state in update.items():
                job.span("reasoning", f"{step}: {json.dumps(state, ensure_ascii=False)}")
                said = state.get("answer", said)
        return said

    with Client(asked.url, os.environ["TIKITAKA_TOKEN"]) as client:
        work(client, asked.team, answer, until=lambda: client.get_task(asked.task).settled_at is not None, wait_s=5)
        outputs = [attempt.output for attempt in client.list_attempts(asked.task)]
        print(json.dumps({"status": client.get_task(asked.task).status, "outputs": outputs}, ensure_ascii=False))


if __name__ == "__main__":
    main()
