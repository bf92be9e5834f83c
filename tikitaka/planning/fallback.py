"""The plan that needs no model: one node for each agent, strictly one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from tikitaka.planning.plan import GENERAL_AREA, Accepted, PlannedNode
from tikitaka.policy import Policy
from tikitaka.text import cut


def sequential_plan(prompt: str, agent_names: Sequence[str], *, policy: Policy) -> Accepted:
    """Each agent in roster order works on the whole prompt after the one before it; at most `plan_nodes_max` nodes."""
    nodes = [
        PlannedNode(
            agent=number,
            instruction=cut(prompt, policy.node_instruction_chars),
            expected_output="Your part of the task, and a short summary of what you did.",
            role=cut(name, policy.node_role_chars),
            work_area=GENERAL_AREA,
            writes=True,
            depends_on=(number - 1,) if number > 1 else (),
        )
        for number, name in enumerate(agent_names[: policy.plan_nodes_max], start=1)
    ]
    return Accepted(nodes=tuple(nodes))
