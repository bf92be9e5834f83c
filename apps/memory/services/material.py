"""What an extractor reads, rebuilt from stored rows: there is no second transcript that could say something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.memory.models import Flush, tasks_of
from apps.tasks.models import Attempt, AttemptStatus, AuthorKind, Message, PlanNode, Span, SpanKind
from tikitaka.policy import Policy
from tikitaka.safety import redact_captured
from tikitaka.segments.extractor_input import ExtractorInput, RunEntry, SpanEntry, TranscriptLine, build_input

_READ_KINDS = (SpanKind.AGENT_MESSAGE, SpanKind.FILE_CHANGE, SpanKind.ERROR, SpanKind.REASONING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The request's text with the rows behind its numbers, and the transcript for extraction without a model."""

    input: ExtractorInput
    attempts: tuple[UUID, ...]
    spans: tuple[int, ...]
    lines: tuple[TranscriptLine, ...]
    line_prompts: tuple[str, ...]
    line_attempts: tuple[UUID | None, ...]
    line_spans: tuple[int | None, ...]
    injected: tuple[str, ...]


def gather(flush: Flush, nodes: Sequence[UUID], *, policy: Policy) -> Material:
    """Prompts and transcript of the segment's tasks, the final attempt of each covered node with its spans.

    Everything was redacted when it was captured, but what people typed was not: that is redacted here.
    """
    tasks = {task.pk: redact_captured(task.prompt).text for task in tasks_of(flush.segment)}
    covered = set(nodes)
    messages = [
        message
        for message in Message.objects.filter(task__in=tasks).select_related("agent").order_by("seq")
        if message.author_kind == AuthorKind.PERSON or message.node_id in covered
    ]
    lines = tuple(_line(message) for message in messages)
    attempts = _final_attempts(nodes)
    spans = _spans([attempt.pk for attempt in attempts])
    last_span = {
        row.attempt_id: row.pk for rows in spans.values() for row in rows if row.kind == SpanKind.AGENT_MESSAGE
    }
    return Material(
        input=build_input(
            prompts=list(tasks.values()),
            transcript=lines,
            runs=[_run(attempt, spans.get(attempt.pk, [])) for attempt in attempts],
            policy=policy,
        ),
        attempts=tuple(attempt.pk for attempt in attempts),
        spans=tuple(row.pk for attempt in attempts for row in spans.get(attempt.pk, [])),
        lines=lines,
        line_prompts=tuple(tasks[message.task_id] for message in messages),
        line_attempts=tuple(message.attempt_id for message in messages),
        line_spans=tuple(last_span.get(message.attempt_id) if message.attempt_id else None for message in messages),
        injected=tuple(message.text for message in messages if message.injected),
    )


def _final_attempts(nodes: Sequence[UUID]) -> list[Attempt]:
    rows = (
        Attempt.objects.filter(node__in=nodes, status=AttemptStatus.COMPLETED)
        .select_related("agent", "node")
        .order_by("finished_at", "id")
    )
    latest = {row.node_id: row for row in rows}
    return sorted(latest.values(), key=lambda row: (row.finished_at is None, row.finished_at, row.pk))


def _spans(attempts: Sequence[UUID]) -> dict[UUID, list[Span]]:
    """The spans that say something durable: messages, changes, errors, reasoning, and commands that failed."""
    found: dict[UUID, list[Span]] = {}
    for row in Span.objects.filter(attempt__in=attempts).order_by("attempt", "seq"):
        if row.kind in _READ_KINDS or row.status == "failed":
            found.setdefault(row.attempt_id, []).append(row)
    return found


def _line(message: Message) -> TranscriptLine:
    person = message.author_kind == AuthorKind.PERSON
    speaker = message.agent.name if message.agent else "Person"
    text = redact_captured(message.text).text if person else message.text
    return TranscriptLine(speaker=speaker, text=text, injected=message.injected)


def _run(attempt: Attempt, spans: Sequence[Span]) -> RunEntry:
    node: PlanNode = attempt.node
    return RunEntry(
        agent=attempt.agent.name,
        role=node.role,
        instruction=redact_captured(node.instruction).text,
        output=attempt.output,
        spans=tuple(SpanEntry(kind=row.kind, text=row.text, injected=row.injected) for row in spans),
    )
