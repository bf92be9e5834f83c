"""Short ways to write a plan."""

from __future__ import annotations

from typing import Any


def node(
    agent: int,
    instruction: str = "do: say done",
    *,
    after: tuple[int, ...] = (),
    area: str = "general",
    read: bool = False,
) -> dict[str, Any]:
    return {
        "agentIndex": agent,
        "instruction": instruction,
        "expectedOutput": "",
        "role": f"role {agent}",
        "dependsOn": list(after),
        "workArea": area,
        "writeIntent": "read" if read else "write",
    }
