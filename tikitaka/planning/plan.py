"""A plan and the one set of rules that every plan obeys, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tikitaka.errors import TikiTakaError
from tikitaka.planning.order import topological_order
from tikitaka.policy import Policy
from tikitaka.replies import Readable, as_index, read_reply
from tikitaka.text import cut, has_visible, one_line

GENERAL_AREA = "general"
_READ_WORDS = frozenset({"read", "readonly", "read-only", "read_only", "none", "no"})


class PlanFault(StrEnum):
    """Why a plan was rejected as a whole; there is no partial repair."""

    INVALID_JSON = "invalid_json"
    TRUNCATED = "truncated"
    EMPTY_CONTENT = "empty_content"
    REFUSAL = "refusal"
    TIMEOUT = "timeout"
    HTTP_ERROR = "http_error"
    OFF = "off"
    SCHEMA = "schema"
    DUPLICATE_KEY = "duplicate_key"
    NODE_COUNT = "node_count"
    EMPTY_INSTRUCTION = "empty_instruction"
    UNKNOWN_AGENT = "unknown_agent"
    INVALID_DEPENDENCY = "invalid_dependency"
    SELF_DEPENDENCY = "self_dependency"
    DUPLICATE_DEPENDENCY = "duplicate_dependency"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNode:
    """One node, numbered from 1 by its place in the plan; `agent` is the number in the roster, also from 1."""

    agent: int
    instruction: str
    expected_output: str
    role: str
    work_area: str
    writes: bool
    depends_on: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A plan in the planner's own order."""

    nodes: tuple[PlannedNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The first fault of a plan."""

    reason: PlanFault


class _Fault(TikiTakaError):
    """A plan does not hold."""

    def __init__(self, reason: PlanFault) -> None:
        self.reason = reason
        super().__init__(reason.value)


def parse_plan(
    body: Mapping[str, Any] | None, *, agents: int, areas: Sequence[str], policy: Policy
) -> Accepted | Rejected:
    """Reads a model's reply and validates the plan in it."""
    reply = read_reply(body, list_key="nodes")
    if not isinstance(reply, Readable):
        return Rejected(reason=PlanFault(reply.reason.value))
    value = reply.value.get("nodes") if isinstance(reply.value, Mapping) else reply.value
    return validate_plan(value, agents=agents, areas=areas, policy=policy)


def validate_plan(nodes: Any, *, agents: int, areas: Sequence[str], policy: Policy) -> Accepted | Rejected:
    """The same rules for a model's plan and for a ready one: `nodes` is a list of objects with 1-based numbers."""
    try:
        if not isinstance(nodes, list):
            raise _Fault(PlanFault.SCHEMA)
        if not 1 <= len(nodes) <= policy.plan_nodes_max:
            raise _Fault(PlanFault.NODE_COUNT)
        parsed = tuple(
            _node(raw, number, len(nodes), agents=agents, areas=areas, policy=policy)
            for number, raw in enumerate(nodes, start=1)
        )
    except _Fault as fault:
        return Rejected(reason=fault.reason)
    if topological_order([node.depends_on for node in parsed]) is None:
        return Rejected(reason=PlanFault.CYCLE)
    return Accepted(nodes=parsed)


def _node(raw: Any, number: int, count: int, *, agents: int, areas: Sequence[str], policy: Policy) -> PlannedNode:
    if not isinstance(raw, Mapping):
        raise _Fault(PlanFault.SCHEMA)
    instruction = raw.get("instruction")
    if instruction is not None and not isinstance(instruction, str):
        raise _Fault(PlanFault.SCHEMA)
    if not instruction or not has_visible(instruction):
        raise _Fault(PlanFault.EMPTY_INSTRUCTION)
    agent = as_index(raw.get("agentIndex"))
    if agent is None or not 1 <= agent <= agents:
        raise _Fault(PlanFault.UNKNOWN_AGENT)
    return PlannedNode(
        agent=agent,
        instruction=cut(instruction, policy.node_instruction_chars),
        expected_output=cut(_text(raw.get("expectedOutput")), policy.node_expected_output_chars),
        role=cut(one_line(_text(raw.get("role"))), policy.node_role_chars),
        work_area=_area(raw.get("workArea"), areas),
        writes=_writes(raw.get("writeIntent")),
        depends_on=_dependencies(raw.get("dependsOn"), number, count),
    )


def _dependencies(raw: Any, number: int, count: int) -> tuple[int, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise _Fault(PlanFault.INVALID_DEPENDENCY)
    found: list[int] = []
    for item in raw:
        index = as_index(item)
        if index is None or not 1 <= index <= count:
            raise _Fault(PlanFault.INVALID_DEPENDENCY)
        if index == number:
            raise _Fault(PlanFault.SELF_DEPENDENCY)
        if index in found:
            raise _Fault(PlanFault.DUPLICATE_DEPENDENCY)
        found.append(index)
    return tuple(found)


def _area(raw: Any, areas: Sequence[str]) -> str:
    """A model proposes intent, never a path: whatever is not a known name is `general`."""
    name = raw.strip().lower() if isinstance(raw, str) else ""
    return name if name in areas else GENERAL_AREA


def _writes(raw: Any) -> bool:
    """Writes unless plainly reading: a missing or odd intent takes the lock."""
    if isinstance(raw, bool):
        return raw
    return not (isinstance(raw, str) and raw.strip().lower() in _READ_WORDS)


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else ""
