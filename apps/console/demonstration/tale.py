"""The two tasks of the demonstration and everything between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from apps.audit.knowledge import KnowledgeRow, knowledge
from apps.conductor.pool import EmbeddedPool
from apps.conductor.story import close_thread, submit
from apps.conductor.wake import wake
from apps.console.demonstration.cast import Cast, assemble, record_answers
from apps.context.models import ContextSnapshot
from apps.ledger.selectors import LogVerification, logs, verify_log
from apps.memory.models import Note, Recipient
from apps.memory.selectors import open_items
from apps.memory.services.notes import note_digest
from apps.memory.services.review import approve, edit
from apps.providers.services.vectors import vectors_for
from apps.tasks.models import Attempt, PlanNode, Task
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.policy import Policy

FIRST = "Let users upload files: settle what the frontend may see, build the endpoint and the form, document it."
SECOND = "Help the frontend to integrate the upload endpoint."
RULE = "api-contract-boundaries"


class TaleBroken(Exception):
    """The demonstration did not come out as it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """Everything that the report shows."""

    cast: Cast
    first: Task
    second: Task
    peak: int
    rows: list[KnowledgeRow]
    answers: dict[str, str]
    available: dict[str, list[str]]
    verification: LogVerification


def tell(pool: EmbeddedPool, *, policy: Policy, progress: Callable[[str], None]) -> Tale:
    """Plays the story and returns it; raises TaleBroken where it goes wrong."""
    progress("Founding an organization with four people and a team of four agents")
    cast = assemble()
    record_answers(cast.secret)
    progress("Loading the sentence encoder and checking its weights")
    vectors_for([FIRST])

    progress("09:14  First task: planned as a graph, run by four agents")
    first = submit(actor=cast.operator, team=cast.team, prompt=FIRST).task
    _wait(pool)
    progress("       The thread of work closes; notes are distilled, recognized and screened")
    close_thread(actor=cast.operator, team=cast.team)
    _wait(pool)
    progress("       The reviewer looks at every note")
    _review(cast, policy)
    _wait(pool)

    progress("09:41  Second task: another session, the same endpoint")
    second = submit(actor=cast.operator, team=cast.team, prompt=SECOND).task
    _wait(pool)
    progress("Recomputing the ledger from its bytes")
    (log,) = logs(cast.organization.pk)
    tale = Tale(
        cast=cast,
        first=Task.objects.get(pk=first.pk),
        second=Task.objects.get(pk=second.pk),
        peak=_peak(first.pk),
        rows=knowledge(cast.team.pk),
        answers=_answers(cast, second.pk),
        available=_available(cast, second.pk),
        verification=verify_log(log),
    )
    _check(tale)
    return tale


def _wait(pool: EmbeddedPool) -> None:
    if not pool.drain(timeout_s=240):
        raise TaleBroken("the work did not come to an end")


def _review(cast: Cast, policy: Policy) -> None:
    """The rule goes to the backend alone, whoever else was proposed; the other notes as they were recognized."""
    backend = cast.agents["backend"].pk
    for item in open_items(cast.organization.pk):
        note: Note = item.note
        proposed = set(Recipient.objects.filter(note=note, verdict="granted").values_list("agent_id", flat=True))
        if note.skill_key != RULE:
            approve(actor=cast.reviewer, note=note, shown_digest=note_digest(note))
        elif backend in proposed:
            approve(actor=cast.reviewer, note=note, shown_digest=note_digest(note), recipients={backend})
        else:
            _move(cast, note, backend, policy)
        wake("land", note.pk)


def _move(cast: Cast, note: Note, agent: UUID, policy: Policy) -> None:
    """Recognition did not propose the backend: the reviewer moves the note, and somebody else approves that."""
    moved = edit(actor=cast.reviewer, note=note, shown_digest=note_digest(note), policy=policy, recipients={agent})
    approve(actor=cast.owner, note=moved, shown_digest=note_digest(moved))


def _peak(task: UUID) -> int:
    """The most nodes of a task that were running at one moment, from their recorded times."""
    times: list[tuple[datetime, int]] = []
    for node in PlanNode.objects.filter(task_id=task):
        if node.started_at and node.finished_at:
            times += [(node.started_at, 1), (node.finished_at, -1)]
    running = peak = 0
    for _, step in sorted(times):
        running += step
        peak = max(peak, running)
    return peak


def _answers(cast: Cast, task: UUID) -> dict[str, str]:
    rows = Attempt.objects.filter(task_id=task).values_list("agent_id", "output")
    names = {agent.pk: short for short, agent in cast.agents.items()}
    return {names[agent]: output for agent, output in rows}


def _available(cast: Cast, task: UUID) -> dict[str, list[str]]:
    """What each agent had at hand in a task, from the snapshots that were saved before it started."""
    names = {agent.pk: short for short, agent in cast.agents.items()}
    keys = {str(pk): key for pk, key in Note.objects.filter(team=cast.team).values_list("pk", "skill_key")}
    snapshots = ContextSnapshot.objects.filter(attempt__task_id=task).select_related("attempt")
    return {names[row.attempt.agent_id]: sorted(keys[note] for note in row.available_notes) for row in snapshots}


def _check(tale: Tale) -> None:
    cast = tale.cast
    wrong = []
    if tale.first.status != "completed" or tale.second.status != "completed":
        wrong.append("a task did not complete")
    if tale.peak < 2:
        wrong.append("the two branches did not run side by side")
    holders = {row.agent_name for row in tale.rows if row.skill_key == RULE and row.file}
    if holders != {cast.agents["backend"].name}:
        wrong.append("the rule did not land for the backend alone")
    if "Public contract" not in tale.answers.get("backend", ""):
        wrong.append("the backend did not answer with the public contract")
    if RULE in tale.available.get("frontend", []) or _skill(cast, "frontend").exists():
        wrong.append("the frontend has the rule")
    if _cited_agents(cast) != {RULE: "security", "upload-checks": "backend", "api-reference": "docs"}:
        wrong.append("a note does not cite the attempt that it came from")
    if _holds_secret(cast):
        wrong.append("a secret reached a workspace")
    if not tale.verification.valid:
        wrong.append("the ledger does not verify")
    if wrong:
        raise TaleBroken("; ".join(wrong))


def _skill(cast: Cast, agent: str) -> Path:
    folder = workspace_folder(workspace_of(cast.agents[agent].pk))
    return folder / ".agents" / "skills" / RULE / "SKILL.md"


def _cited_agents(cast: Cast) -> dict[str, str]:
    """For each note the agent whose attempt it cites."""
    names = {agent.pk: short for short, agent in cast.agents.items()}
    rows = Note.objects.filter(team=cast.team).values_list("skill_key", "cited_attempts__agent")
    return {key: names.get(agent, "nobody") for key, agent in rows}


def _holds_secret(cast: Cast) -> bool:
    for agent in cast.agents.values():
        folder = workspace_folder(workspace_of(agent.pk))
        for path in [folder / "AGENTS.md", *folder.glob(".agents/skills/*/SKILL.md")]:
            if path.exists() and cast.secret in path.read_text(encoding="utf-8"):
                return True
    return Note.objects.filter(team=cast.team, content__contains=cast.secret).exists()
