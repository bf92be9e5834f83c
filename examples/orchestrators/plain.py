"""An orchestrator in plain Python: answers the nodes of a team's external agents with a function.

Set TIKITAKA_TOKEN to a token with the scopes view_organization_work and lease_node, and name the team and the task to
work on. It ends when the task has settled, and prints what every agent said.
"""

from __future__ import annotations

import argparse
import json
import os

from tikitaka.client import Client, Job, work


def answer(job: Job) -> str:
    """In the place of an agent: here you would ask a model. What it does is told as it happens."""
    asked = job.envelope
    seq = job.span("command", f"read {asked.work_area}", status="started")
    words = len(asked.instruction.split())
    job.span("command", f"read {asked.work_area}", replaces=seq)
    job.check()  # ends here if the task was cancelled meanwhile
    return f"{asked.agent_name} has done it, as told in {words} words."


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers the nodes of a team's external agents.")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--team", required=True, help="id of the team")
    parser.add_argument("--task", required=True, help="id of the task; it ends when this has settled")
    asked = parser.parse_args()
    with Client(asked.url, os.environ["TIKITAKA_TOKEN"]) as client:
        work(client, asked.team, answer, until=lambda: client.get_task(asked.task).settled_at is not None, wait_s=5)
        outputs = [attempt.output for attempt in client.list_attempts(asked.task)]
        print(json.dumps({"status": client.get_task(asked.task).status, "outputs": outputs}, ensure_ascii=False))


if __name__ == "__main__":
    main()
