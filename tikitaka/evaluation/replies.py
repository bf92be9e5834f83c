"""Model replies against their contract: what planner and extractor make of each, and whether it was expected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tikitaka.notes.contract import NotExtracted, parse_notes
from tikitaka.planning.areas import DEFAULT_AREAS
from tikitaka.planning.plan import Rejected, parse_plan
from tikitaka.policy import DEFAULT
from tikitaka.ports import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCase:
    """A reply as a server sent it, with how many agents, runs and spans its request had offered."""

    id: str
    kind: str
    reply: Mapping[str, Any] | None
    agents: int
    runs: int
    spans: int
    expect: Mapping[str, Any] | None


def parse(lines: Iterable[str]) -> list[ReplyCase]:
    """The cases of a file in the form of model_replies.jsonl; `expect` may be missing."""
    cases = []
    for line in lines:
        if line.strip():
            row = json.loads(line)
            cases.append(
                ReplyCase(
                    id=row["id"],
                    kind=row["kind"],
                    reply=row.get("reply"),
                    agents=row.get("agents", 0),
                    runs=row.get("runs", 0),
                    spans=row.get("spans", 0),
                    expect=row.get("expect"),
                )
            )
    return cases


def texts(_: Sequence[ReplyCase]) -> list[str]:
    """No vectors are needed."""
    return []


def decide(cases: Sequence[ReplyCase], _: Mapping[str, Vector]) -> list[dict[str, Any]]:
    """One row per case: `{id, result}` in the form of `expect`."""
    return [{"id": case.id, "result": _planned(case) if case.kind == "planner" else _extracted(case)} for case in cases]


def metrics(cases: Sequence[ReplyCase], rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How many cases there are, and the share whose result is exactly what was expected."""
    known = [(case.expect, row["result"]) for case, row in zip(cases, rows, strict=True) if case.expect is not None]
    exact = sum(expect == result for expect, result in known)
    return {"cases": len(cases), "exact": exact, "exact_share": exact / len(known) if known else 0.0}


def _planned(case: ReplyCase) -> dict[str, Any]:
    plan = parse_plan(case.reply, agents=case.agents, areas=list(DEFAULT_AREAS), policy=DEFAULT)
    if isinstance(plan, Rejected):
        return {"outcome": "fallback", "reason": plan.reason.value}
    nodes = [
        {
            "agentIndex": node.agent,
            "dependsOn": list(node.depends_on),
            "instruction": node.instruction,
            "expectedOutput": node.expected_output,
            "workArea": node.work_area,
            "writeIntent": "write" if node.writes else "read",
        }
        for node in plan.nodes
    ]
    return {"outcome": "accept", "nodes": nodes}


def _extracted(case: ReplyCase) -> dict[str, Any]:
    found = parse_notes(case.reply, attempts=case.runs, spans=case.spans, policy=DEFAULT)
    if isinstance(found, NotExtracted):
        return {"outcome": "no_memory", "reason": found.reason.value}
    result: dict[str, Any] = {
        "outcome": "accept" if found.notes else "no_memory",
        "notes": [
            {
                "content": note.content,
                "severity": note.severity.value,
                "skillKey": note.skill_key,
                "description": note.description,
                "sourceRunIndices": list(note.attempts),
                "sourceSpanIndices": list(note.spans),
                "rationale": note.rationale,
            }
            for note in found.notes
        ],
        "dropped": [{"note": item.number, "reason": item.reason.value} for item in found.dropped],
    }
    if found.reason:
        result["reason"] = found.reason.value
    return result
