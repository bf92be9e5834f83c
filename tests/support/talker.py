"""A program for the process runtime. What it does stands in its prompt as lines `do: <word> [argument]`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def emit(**event):
    print(json.dumps(event), flush=True)


def item(kind, number=[0], **fields):  # noqa: B006 a counter
    number[0] += 1
    emit(type="item.completed", item={"id": f"item_{number[0]}", "type": kind, **fields})


def kill_worker():
    """Kills the nearest ancestor that is a worker, as a node that exhausts its machine would."""
    pid = os.getppid()
    while pid > 1:
        if b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            time.sleep(60)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def main():
    prompt = sys.stdin.read()
    orders = [line[4:].split(" ", 1) for line in prompt.splitlines() if line.startswith("do: ")] or [["say", "done"]]
    for order in orders:
        word, argument = order[0], (order[1] if len(order) > 1 else "")
        if word == "say":
            item("agent_message", text=argument)
        elif word == "think":
            item("reasoning", text=argument)
        elif word == "sleep":
            time.sleep(float(argument))
        elif word == "exit":
            sys.exit(int(argument))
        elif word == "thread":
            emit(type="thread.started", thread_id=os.environ.get("TIKITAKA_THREAD") or argument)
        elif word == "prompt":
            item("agent_message", text=prompt)
        elif word == "flood":
            sys.stdout.write("x" * int(argument))
        elif word == "fail-once":
            mark = Path(os.environ["HOME"]) / argument
            if not mark.exists():
                mark.touch()
                sys.exit(1)
        elif word == "hang-once":
            mark = Path(os.environ["HOME"]) / argument
            if not mark.exists():
                mark.touch()
                item("reasoning", text="hanging")
                time.sleep(120)
        elif word == "fail-until":
            if not Path(argument).exists():
                sys.exit(1)
        elif word == "spawn":
            subprocess.Popen(["sleep", argument])
            subprocess.Popen(["sleep", argument], start_new_session=True)
        elif word == "read":
            path = Path(argument)
            item("agent_message", text=path.read_text() if path.exists() else "(absent)")
        elif word == "probe":
            seconds, folder = argument.split(" ", 1)
            mark = Path(folder) / f"here-{os.getpid()}"
            mark.touch()
            inside = sum(1 for _ in Path(folder).glob("here-*"))
            (Path(folder) / f"saw-{os.getpid()}").write_text(str(inside))
            time.sleep(float(seconds))
            mark.unlink()
        elif word == "kill-worker":
            kill_worker()
        elif word == "change":
            item("file_change", changes=[{"path": argument, "kind": "update"}], status="completed")


main()
