"""The parts of a note's page, each one template over what the selectors say; agent text only with `show_hidden`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apps.audit.knowledge import note_story
from apps.audit.progress import removed
from apps.console.admin.preview import previews
from apps.memory.models import Note
from apps.memory.selectors import current_item
from apps.tasks.models import Task
from apps.teams.models import Agent
from tikitaka.review.triggers import EXPLANATIONS, ReviewReason
from tikitaka.safety import show_hidden

_EXCERPT = 200


def _once(part: Callable[[Note], SafeString]) -> Callable[[Note], SafeString]:
    """The theme asks for each field several times while it draws a page."""

    def drawn(note: Note) -> SafeString:
        parts: dict[str, SafeString] = note.__dict__.setdefault("_drawn", {})
        if part.__name__ not in parts:
            parts[part.__name__] = part(note)
        return parts[part.__name__]

    return drawn


@_once
def statement(note: Note) -> SafeString:
    texts = {name: show_hidden(getattr(note, name)) for name in ("content", "description", "rationale")}
    update = note.possible_update_of
    return _part(
        "statement",
        {"note": note, **texts, "update": update, "update_content": show_hidden(update.content) if update else ""},
    )


@_once
def reasons(note: Note) -> SafeString:
    return _part(
        "reasons",
        {
            "reasons": [(reason, EXPLANATIONS[ReviewReason(reason)]) for reason in note.review_reasons],
            "findings": [_finding(note, finding) for finding in note.findings],
            "note": note,
            "fault": show_hidden(note.landing_fault),
            "item": current_item(note),
        },
    )


@_once
def verdicts(note: Note) -> SafeString:
    rows = [(row, show_hidden(row.agent_name), show_hidden(row.file)) for row in note_story(note.pk)]
    return _part("verdicts", {"rows": rows})


@_once
def landing(note: Note) -> SafeString:
    waiting = note.status in ("pending", "quarantined", "approved")
    return _part("landing", {"note": note, "waiting": waiting, "previews": previews(note) if waiting else []})


@_once
def evidence(note: Note) -> SafeString:
    spans = note.cited_spans.select_related("attempt__agent").order_by("attempt", "seq")
    attempts = note.cited_attempts.select_related("agent", "node", "task").order_by("started_at")
    return _part(
        "evidence",
        {
            "note": note,
            "spans": [(span, show_hidden(span.attempt.agent.name), show_hidden(span.text)) for span in spans],
            "attempts": [
                {
                    "row": attempt,
                    "agent": show_hidden(attempt.agent.name),
                    "role": show_hidden(attempt.node.role),
                    "output": show_hidden(attempt.output),
                    "removed": removed(attempt.task),
                }
                for attempt in attempts
            ],
        },
    )


@_once
def history(note: Note) -> SafeString:
    decisions = list(note.decisions.select_related("reviewer").order_by("at"))
    names = _names(agent for decision in decisions for agent in [*decision.before, *decision.after])
    rows = [
        {
            "decision": decision,
            "reviewer": show_hidden(str(decision.reviewer)),
            "words": show_hidden(decision.words),
            "before": [names[agent] for agent in decision.before if agent in names],
            "after": [names[agent] for agent in decision.after if agent in names],
        }
        for decision in decisions
    ]
    people = {"written_by": note.written_by, "edited_by": note.edited_by}
    return _part(
        "history", {"rows": rows, **{key: show_hidden(str(who)) if who else "" for key, who in people.items()}}
    )


@_once
def facts(note: Note) -> SafeString:
    tasks = Task.objects.filter(attempts__in=note.cited_attempts.all()).distinct().order_by("submitted_at")
    return _part("facts", {"note": note, "tasks": [(task.pk, show_hidden(task.prompt[:80])) for task in tasks]})


def _finding(note: Note, finding: dict[str, Any]) -> dict[str, Any]:
    """A finding with the words that it is about, where the stored text still is the text that was screened."""
    text = getattr(note, finding["field"], "") if not note.redacted else ""
    plain = {key: show_hidden(value) if isinstance(value, str) else value for key, value in finding.items()}
    return {**plain, "words": show_hidden(text[finding["start"] : finding["end"]][:_EXCERPT])}


def _names(agents: Iterable[str]) -> dict[str, str]:
    rows = Agent.objects.filter(pk__in={UUID(agent) for agent in agents}).values_list("pk", "name")
    return {str(pk): show_hidden(name) for pk, name in rows}


def _part(name: str, context: dict[str, Any]) -> SafeString:
    return SafeString(render_to_string(f"console/note/{name}.html", context))
