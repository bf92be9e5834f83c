"""Writing an imported session: new turns as new rows, known turns only where something was missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from apps.conductor.import_rows import (
    UNKNOWN_PROMPT,
    PreparedTurn,
    Text,
    new_turn,
    said_by_agent,
    said_by_person,
    span_mark,
)
from apps.conductor.models import ImportSource, ToldTurn
from apps.ledger.services import Recorder
from apps.tasks.models import Attempt, AttemptStatus, AuthorKind, Message, PlanNode, Span, Task, TaskStatus
from apps.tasks.services.log import take_numbers
from apps.teams.models import Agent
from tikitaka.capture.matching import Outline, merged, traces
from tikitaka.capture.sessions import ImportedSession
from tikitaka.capture.turns import DamagedLine
from tikitaka.ledger.events import TaskSubmitted, WorkImported
from tikitaka.policy import Policy
from tikitaka.scheduling.graph import NodeStatus
from tikitaka.text import cut, digest

_DAMAGED_KEPT = 200
_KEYS_AT_ONCE = 500
_ASIDE = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What one session added. All counts are zero when everything had been brought in before."""

    source: UUID
    form: str
    thread_id: str
    tasks: int
    spans: int
    messages: int
    filled: int
    new_form: bool
    damaged: tuple[DamagedLine, ...]

    @property
    def changed(self) -> bool:
        """False when this recording was known already."""
        return bool(self.tasks or self.spans or self.messages or self.filled or self.new_form)


@dataclass(slots=True, kw_only=True)
class StoredTurn:
    """A turn that an earlier recording brought in."""

    task: Task
    node: PlanNode
    attempt: Attempt
    spans: list[Span]

    @property
    def outline(self) -> Outline:
        return Outline(
            prompt="" if self.task.prompt == UNKNOWN_PROMPT else self.task.prompt,
            answer=self.attempt.output,
            marks=Counter(span_mark(span) for span in self.spans),
            traces=traces(span.data for span in self.spans),
        )


def known_turns(source: ImportSource, keys: Sequence[str]) -> dict[str, UUID]:
    """The attempts of those turns that a recording has told before, by their keys."""
    found: dict[str, UUID] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        rows = source.turns.filter(key__in=keys[start : start + _KEYS_AT_ONCE])
        found |= dict(rows.values_list("key", "attempt_id"))
    return found


def stored_turns(source: ImportSource) -> list[StoredTurn]:
    attempts = Attempt.objects.filter(task__source_id=source.pk).select_related("task", "node")
    spans: dict[UUID, list[Span]] = {}
    for span in Span.objects.filter(attempt__task__source_id=source.pk).order_by("seq"):
        spans.setdefault(span.attempt_id, []).append(span)
    return [
        StoredTurn(task=row.task, node=row.node, attempt=row, spans=spans.get(row.pk, []))
        for row in attempts.order_by("task__first_seq")
    ]


@dataclass(slots=True, kw_only=True)
class ImportWriter:
    """Collects what a session adds and writes it at once, so that the messages are numbered in one run.

    `parts` where each recording holds a part of the thread, as batches of traces do: times and counts then grow
    together, and what failed in one part may have been answered in another.
    """

    source: ImportSource
    agent: Agent
    submitter: UUID | None
    now: datetime
    policy: Policy
    ledger: Recorder
    parts: bool = False
    tasks: dict[UUID, Task] = field(default_factory=dict)
    nodes: list[PlanNode] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    told: list[ToldTurn] = field(default_factory=list)
    filled: int = 0
    injected: set[str] | None = None

    def add(self, turn: PreparedTurn) -> None:
        """A turn that no earlier recording held."""
        rows = new_turn(
            turn,
            agent=self.agent,
            source=self.source.pk,
            submitter=self.submitter,
            now=self.now,
            policy=self.policy,
        )
        rows.attempt.thread_id = self.source.thread_id
        self._remember(turn, rows.attempt)
        self.nodes.append(rows.node)
        self.attempts.append(rows.attempt)
        self._inject(rows.task, turn)
        asked = turn.prompt or Text(text=UNKNOWN_PROMPT, findings=[])
        prompt = said_by_person(rows.task, asked, rows.task.submitted_at)
        self.messages.append(prompt)
        self.tasks[prompt.pk] = rows.task
        if turn.answer is not None:
            self.messages.append(said_by_agent(rows.attempt, turn.answer, turn.ended_at or self.now))
        for seq, span in enumerate(turn.spans, start=1):
            self._attach(span, rows.attempt, seq)

    def fill(self, known: StoredTurn, turn: PreparedTurn) -> None:
        """What this recording knows and the earlier one did not; what was removed by its age is not brought back."""
        self._remember(turn, known.attempt)
        if known.task.pruned_at is not None:
            return
        self._inject(known.task, turn)
        self._fill_prompt(known, turn)
        self._fill_outcome(known, turn)
        self._fill_spans(known, turn)

    def save(self, session: ImportedSession) -> Imported:
        """Writes everything and one entry; no more than how it was told when nothing was added."""
        imported = Imported(
            source=self.source.pk,
            form=session.form,
            thread_id=session.thread_id,
            tasks=len(self.tasks),
            spans=len(self.spans),
            messages=len(self.messages),
            filled=self.filled,
            new_form=session.form not in self.source.forms,
            damaged=session.damaged,
        )
        if imported.changed:
            self._number()
            Task.objects.bulk_create(self.tasks.values())
            PlanNode.objects.bulk_create(self.nodes)
            Attempt.objects.bulk_create(self.attempts)
            Message.objects.bulk_create(self.messages)
            Span.objects.bulk_create(self.spans, batch_size=500)
            self._record(session, imported)
        ToldTurn.objects.bulk_create(self.told)
        return imported

    def _remember(self, turn: PreparedTurn, attempt: Attempt) -> None:
        self.told.append(ToldTurn(source=self.source, attempt=attempt, key=turn.key))

    def _number(self) -> None:
        if not self.messages:
            return
        numbers = take_numbers(self.agent.team_id, len(self.messages))
        for seq, message in zip(numbers, self.messages, strict=True):
            message.seq = seq
            if message.pk in self.tasks:
                self.tasks[message.pk].first_seq = seq

    def _record(self, session: ImportedSession, imported: Imported) -> None:
        damaged = [{"form": session.form, "line": line.number, "reason": line.reason} for line in session.damaged]
        fresh = [entry for entry in damaged if entry not in self.source.damaged_lines]
        self.source.damaged_lines = [*self.source.damaged_lines, *fresh][:_DAMAGED_KEPT]
        if session.form not in self.source.forms:
            self.source.forms = [*self.source.forms, session.form]
        self.source.save(update_fields=["forms", "damaged_lines"])
        self.ledger.record(
            *(self._submitted(task) for task in self.tasks.values()),
            WorkImported(
                source=self.source.pk,
                team=self.agent.team_id,
                agent=self.agent.pk,
                form=session.form,
                tasks=imported.tasks,
                spans=imported.spans,
                messages=imported.messages,
                damaged_lines=len(session.damaged),
            ),
        )

    def _submitted(self, task: Task) -> TaskSubmitted:
        return TaskSubmitted(task=task.pk, team=task.team_id, prompt_digest=digest(task.prompt), source="import")

    def _inject(self, task: Task, turn: PreparedTurn) -> None:
        if self.injected is None:
            rows = Message.objects.filter(task__source_id=self.source.pk, injected=True)
            self.injected = set(rows.values_list("text", flat=True))
        for item in turn.injected:
            if item.text not in self.injected:
                self.injected.add(item.text)
                self.messages.append(said_by_person(task, item, turn.started_at or self.now, injected=True))

    def _fill_prompt(self, known: StoredTurn, turn: PreparedTurn) -> None:
        if turn.prompt is None or known.task.prompt != UNKNOWN_PROMPT:
            return
        known.task.prompt = turn.prompt.text
        known.node.instruction = cut(turn.prompt.text, self.policy.node_instruction_chars)
        known.task.save(update_fields=["prompt"])
        known.node.save(update_fields=["instruction"])
        Message.objects.filter(team=known.task.team_id, seq=known.task.first_seq).update(
            text=turn.prompt.text, findings=turn.prompt.findings
        )
        self.filled += 1
        self.ledger.record(self._submitted(known.task))

    def _fill_outcome(self, known: StoredTurn, turn: PreparedTurn) -> None:
        """Token counts and times that were missing; the answer where the earlier recording broke off before it."""
        changes: dict[str, Any] = {}
        usage = self._usage(known.attempt, turn)
        if usage != known.attempt.usage:
            changes["usage"] = usage
        period = self._period(known.attempt, turn)
        if period is not None:
            changes |= {"started_at": period[0], "finished_at": period[1]}
            self._move_to(known, *period)
        unanswered = bool(known.attempt.error) if self.parts else known.attempt.error in ("interrupted", "no_answer")
        if turn.answer is not None and unanswered:
            changes |= {"status": AttemptStatus.COMPLETED, "output": turn.answer.text, "error": "", "error_detail": ""}
            PlanNode.objects.filter(pk=known.node.pk).update(status=NodeStatus.COMPLETED.value)
            Task.objects.filter(pk=known.task.pk).update(status=TaskStatus.COMPLETED)
            self.messages.append(said_by_agent(known.attempt, turn.answer, turn.ended_at or self.now))
        if changes:
            Attempt.objects.filter(pk=known.attempt.pk).update(**changes)
            self.filled += 1

    def _usage(self, attempt: Attempt, turn: PreparedTurn) -> dict[str, int]:
        """The first counts stand; those of parts are each a lower bound of the whole."""
        known: dict[str, int] = attempt.usage
        if not self.parts:
            return known or dict(turn.usage)
        return {name: max(known.get(name, 0), turn.usage.get(name, 0)) for name in sorted({*known, *turn.usage})}

    def _period(self, attempt: Attempt, turn: PreparedTurn) -> tuple[datetime, datetime] | None:
        """When the turn ran by both recordings, where that is not what is stored."""
        if turn.started_at is None:
            return None
        started, ended = turn.started_at, turn.ended_at or turn.started_at
        if attempt.started_at < self.source.imported_at:
            started, ended = min(started, attempt.started_at), max(ended, attempt.finished_at or ended)
        return None if (started, ended) == (attempt.started_at, attempt.finished_at) else (started, ended)

    def _move_to(self, known: StoredTurn, started: datetime, ended: datetime) -> None:
        """Work whose time was not known had stood at the time of its import."""
        Task.objects.filter(pk=known.task.pk).update(submitted_at=started, started_at=started, settled_at=ended)
        PlanNode.objects.filter(pk=known.node.pk).update(started_at=started, finished_at=ended)
        spoken = Message.objects.filter(task=known.task.pk, injected=False)
        spoken.filter(author_kind=AuthorKind.PERSON).update(at=started)
        spoken.filter(author_kind=AuthorKind.AGENT).update(at=ended)

    def _fill_spans(self, known: StoredTurn, turn: PreparedTurn) -> None:
        found, added = merged([span_mark(span) for span in known.spans], [span_mark(span) for span in turn.spans])
        for span, place in zip(turn.spans, found, strict=True):
            if place is not None:
                self._complete(known.spans[place], span)
        if not added and not self.parts:
            return
        after: dict[int, list[Span]] = {}
        for place, behind in added:
            after.setdefault(behind, []).append(turn.spans[place])
        order = [*after.get(0, [])]
        for count, span in enumerate(known.spans, start=1):
            order += [span, *after.get(count, [])]
        self._renumber(known, sorted(order, key=lambda span: span.at) if self.parts else order)

    def _renumber(self, known: StoredTurn, order: Sequence[Span]) -> None:
        """New spans take their place among the old ones; cited spans keep their identity, only the number moves."""
        old = {span.pk for span in known.spans}
        moved = []
        for seq, span in enumerate(order, start=1):
            if span.pk not in old:
                self._attach(span, known.attempt, seq)
            elif span.seq != seq:
                span.seq = seq
                moved.append(span)
        if moved:
            Span.objects.filter(pk__in=[span.pk for span in moved]).update(seq=F("seq") + _ASIDE)
            Span.objects.bulk_update(moved, ["seq"], batch_size=500)

    def _complete(self, old: Span, new: Span) -> None:
        """A span whose end or whose time the earlier recording did not show."""
        changes: dict[str, Any] = {}
        if old.status == "started" and new.status != "started":
            changes |= {"status": new.status, "text": new.text, "data": new.data, "findings": new.findings}
        if old.at > new.at and (self.parts or old.at >= self.source.imported_at > new.at):
            changes["at"] = old.at = new.at
        if changes:
            Span.objects.filter(pk=old.pk).update(**changes)
            self.filled += 1

    def _attach(self, span: Span, attempt: Attempt, seq: int) -> None:
        span.attempt, span.seq = attempt, seq
        self.spans.append(span)
