"""How the example agents speak: JSON lines in the vocabulary of `codex exec --json`, and what they may look at.

An agent reads its prompt on stdin and the files of its own workspace, which is its current folder. Nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

_items = 0


def hear() -> str:
    """The prompt."""
    return sys.stdin.read()


def say(kind: str, **fields: object) -> None:
    """One finished item of a turn."""
    global _items
    item = {"id": f"item_{_items}", "type": kind, **fields}
    _items += 1
    print(json.dumps({"type": "item.completed", "item": item}, ensure_ascii=False), flush=True)


def think(text: str) -> None:
    say("reasoning", text=text)


def ran(command: str, output: str = "", exit_code: int = 0) -> None:
    """A command that this agent ran."""
    status = "completed" if exit_code == 0 else "failed"
    say("command_execution", command=command, aggregated_output=output, exit_code=exit_code, status=status)


def answer(text: str) -> None:
    """The last message is what the team gets."""
    say("agent_message", text=text)
    usage = {"input_tokens": 0, "output_tokens": len(text.split())}
    print(json.dumps({"type": "turn.completed", "usage": usage}), flush=True)


def write(path: str, text: str) -> None:
    """Changes a file of the shared tree and says so."""
    target = Path(path)
    kind = "update" if target.exists() else "add"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    say("file_change", changes=[{"path": path, "kind": kind}], status="completed")


def skills() -> dict[str, str]:
    """The skills in this workspace, by name."""
    return {path.parent.name: path.read_text(encoding="utf-8") for path in Path().glob(".agents/skills/*/SKILL.md")}


def instructions() -> str:
    """The instructions file of this workspace."""
    path = Path("AGENTS.md")
    return path.read_text(encoding="utf-8") if path.exists() else ""
