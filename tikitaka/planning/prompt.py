"""What the planner model is asked. No identifier and no path ever stands in it; agents are numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tikitaka.policy import Policy
from tikitaka.ports import ModelRequest

SYSTEM_PROMPT = """You plan work for a team of agents as a small dependency graph.
Answer with one JSON object {"nodes": [...]} of 1 to %(nodes)d nodes and nothing else.
Each node: "agentIndex" (number of the agent in the list), "dependsOn" (list of node numbers, first node is 1),
"instruction" (what this agent does), "expectedOutput", "role" (a few words), "workArea" (one of: %(areas)s),
"writeIntent" ("write" or "read"). Let independent parts run side by side; depend only on what is really needed."""

PLAN_SCHEMA: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["nodes"],
        "properties": {
            "nodes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": [
                        "agentIndex",
                        "dependsOn",
                        "instruction",
                        "expectedOutput",
                        "role",
                        "workArea",
                        "writeIntent",
                    ],
                    "properties": {
                        "agentIndex": {"type": "integer"},
                        "dependsOn": {"type": "array", "items": {"type": "integer"}},
                        "instruction": {"type": "string"},
                        "expectedOutput": {"type": "string"},
                        "role": {"type": "string"},
                        "workArea": {"type": "string"},
                        "writeIntent": {"type": "string", "enum": ["write", "read"]},
                    },
                },
            }
        },
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterEntry:
    """One agent as the planner sees it: a name and what it does."""

    name: str
    description: str


def plan_request(
    *, prompt: str, team_description: str, roster: Sequence[RosterEntry], areas: Sequence[str], policy: Policy
) -> ModelRequest:
    """The request; the team's description goes above the task, and without one there is no heading for it."""
    parts = []
    if team_description.strip():
        parts.append(f"# Team context\n{team_description.strip()}")
    agents = "\n".join(f"{number}. {entry.name}: {entry.description}" for number, entry in enumerate(roster, start=1))
    parts.append(f"# Agents\n{agents}")
    parts.append(f"# Task\n{prompt}")
    return ModelRequest(
        purpose="plan",
        system=SYSTEM_PROMPT % {"nodes": policy.plan_nodes_max, "areas": ", ".join(areas)},
        user="\n\n".join(parts),
        schema=PLAN_SCHEMA,
        timeout_s=policy.planner_timeout_s,
    )
