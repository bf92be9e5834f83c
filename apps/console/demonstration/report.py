"""The demonstration's result, for a program and for a reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apps.console.demonstration.tale import Tale
from apps.tasks.models import PlanNode
from apps.teams.selectors import workspace_folder, workspace_of


def as_json(tale: Tale) -> dict[str, Any]:
    """One JSON object: task, peak_in_flight, notes, landed, second_task, ledger."""
    names = {agent.pk: short for short, agent in tale.cast.agents.items()}
    notes: dict[Any, dict[str, Any]] = {}
    landed = []
    for row in tale.rows:
        note = notes.setdefault(
            row.note, {"content": row.content, "key": row.skill_key, "status": row.note_status, "recipients": []}
        )
        note["recipients"].append(
            {
                "agent": names[row.agent],
                "verdict": row.verdict,
                "reason": row.reason or None,
                "score_bp": row.score_bp,
                "threshold_bp": row.threshold_bp,
            }
        )
        if row.file:
            landed.append(
                {"agent": names[row.agent], "path": str(workspace_folder(workspace_of(row.agent)) / row.file)}
            )
    return {
        "task": {"status": tale.first.status, "nodes": [_node(node, names) for node in _nodes(tale)]},
        "peak_in_flight": tale.peak,
        "notes": list(notes.values()),
        "landed": landed,
        "second_task": {
            agent: {"available": tale.available.get(agent, []), "answer": answer}
            for agent, answer in sorted(tale.answers.items())
        },
        "ledger": {"entries": tale.verification.entries, "valid": tale.verification.valid},
    }


def as_text(tale: Tale) -> Iterator[str]:
    """The table note by agent, the answers at 09:41, the ledger."""
    names = {agent.pk: short for short, agent in tale.cast.agents.items()}
    shown = None
    for row in tale.rows:
        if row.note != shown:
            shown = row.note
            yield ""
            yield f"  {row.skill_key} ({row.note_status}): {row.content}"
        score = "     -" if row.score_bp is None else f"{row.score_bp / 10_000:6.2f}"
        against = "" if row.threshold_bp is None else f" against {row.threshold_bp / 10_000:.2f}"
        reason = row.file or row.reason
        yield f"    {names[row.agent]:<9} {row.verdict:<9} {score}{against or ' ' * 13}  {reason}"
    yield ""
    for agent, answer in sorted(tale.answers.items()):
        held = ", ".join(tale.available.get(agent, [])) or "nothing"
        yield f"  09:41 {agent} had {held} and answered: {answer}"
    verdict = "valid" if tale.verification.valid else "BROKEN"
    yield ""
    yield f"  Ledger: {tale.verification.entries} entries, {verdict}."


def _nodes(tale: Tale) -> list[PlanNode]:
    return list(PlanNode.objects.filter(task=tale.first).order_by("index"))


def _node(node: PlanNode, names: dict[Any, str]) -> dict[str, Any]:
    return {
        "index": node.index,
        "agent": names[node.agent_id],
        "status": node.status,
        "depends_on": node.depends_on,
        "start": node.started_at.isoformat() if node.started_at else None,
        "end": node.finished_at.isoformat() if node.finished_at else None,
    }
