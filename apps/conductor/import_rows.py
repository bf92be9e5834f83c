"""A recorded session as it may be stored: cleaned, redacted, cut. The original is not kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from apps.ledger.ids import new_id
from apps.tasks.models import Attempt, AuthorKind, Message, PlanNode, Span, Task
from apps.tasks.services.attempts import finding_rows, span_row
from apps.teams.models import Agent
from tikitaka.capture.events import SpanDraft
from tikitaka.capture.matching import Outline, mark, traces
from tikitaka.capture.turns import ImportedTurn
from tikitaka.policy import Policy
from tikitaka.safety import redact_captured
from tikitaka.scheduling.graph import NodeStatus
from tikitaka.text import clean_captured, cut, digest

UNKNOWN_PROMPT = "(The prompt was not recorded.)"
_READ_CHARS = 1_000_000
_DETAIL_CHARS = 2_000
_CHANGES_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A redacted text with what was found in it."""

    text: str
    findings: list[dict[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTurn:
    """One turn, ready to be stored. The spans have no attempt and no number yet."""

    prompt: Text | None
    injected: tuple[Text, ...]
    spans: tuple[Span, ...]
    answer: Text | None
    usage: Mapping[str, int]
    started_at: datetime | None
    ended_at: datetime | None
    error: str
    detail: str
    key: str = ""

    @property
    def outline(self) -> Outline:
        """The turn as two recordings of it are compared."""
        return Outline(
            prompt=self.prompt.text if self.prompt else "",
            answer=self.answer.text if self.answer else "",
            marks=Counter(span_mark(span) for span in self.spans),
            traces=traces(span.data for span in self.spans),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRows:
    """The rows that one new turn becomes; its messages wait for their numbers."""

    task: Task
    node: PlanNode
    attempt: Attempt


def prepare(turns: Iterable[ImportedTurn], *, now: datetime, policy: Policy) -> list[PreparedTurn]:
    """The turns of one recording with nothing in them that may not be kept. No recorded time lies in the future.

    Each has a key of its own: the second answer to a prompt is that of another turn.
    """
    asked: Counter[str | None] = Counter()
    found = []
    for turn in turns:
        prepared = _prepare(turn, now=now, policy=policy)
        prompt = prepared.prompt.text if prepared.prompt else None
        asked[prompt] += 1
        found.append(replace(prepared, key=_key(turn, prepared, asked[prompt])))
    return found


def _prepare(turn: ImportedTurn, *, now: datetime, policy: Policy) -> PreparedTurn:
    return PreparedTurn(
        prompt=safe_text(turn.prompt, policy.prompt_chars) if turn.prompt else None,
        injected=tuple(safe_text(item, policy.prompt_chars) for item in turn.injected),
        spans=tuple(_span(draft, now, policy) for draft in turn.spans),
        answer=safe_text(turn.answer, policy.prompt_chars) if turn.answer else None,
        usage=turn.usage,
        started_at=min(turn.started_at, now) if turn.started_at else None,
        ended_at=min(turn.ended_at, now) if turn.ended_at else None,
        error=turn.error or "",
        detail=safe_text(turn.detail, _DETAIL_CHARS).text,
    )


def _key(turn: ImportedTurn, stored: PreparedTurn, place: int) -> str:
    """A digest of all that is stored of a turn, with the times that were recorded, not those that stand in for them."""
    told = [
        place,
        stored.prompt and stored.prompt.text,
        [item.text for item in stored.injected],
        stored.answer and stored.answer.text,
        sorted(stored.usage.items()),
        [turn.started_at, turn.ended_at, stored.error, stored.detail],
        [
            [span.kind, span.status, span.text, span.data, draft.at]
            for span, draft in zip(stored.spans, turn.spans, strict=True)
        ],
    ]
    return digest(json.dumps(told, sort_keys=True, default=str))


def safe_text(raw: str, limit: int) -> Text:
    """Cleaned, redacted, and then cut, so that no cut lets half a secret through."""
    redaction = redact_captured(clean_captured(cut(raw, _READ_CHARS)))
    return Text(text=cut(redaction.text, limit), findings=finding_rows(redaction.findings))


def span_mark(span: Span) -> str:
    """What the span is called in every form."""
    return mark(span.kind, span.text, span.data)


def new_turn(
    turn: PreparedTurn, *, agent: Agent, source: Any, submitter: Any, now: datetime, policy: Policy
) -> TurnRows:
    """Task, node and attempt of a turn; a finished piece of work, so nothing of it is ever dispatched."""
    started = turn.started_at or now
    ended = turn.ended_at or started
    status = NodeStatus.FAILED.value if turn.error else NodeStatus.COMPLETED.value
    task = Task(
        id=new_id(),
        organization_id=agent.organization_id,
        team_id=agent.team_id,
        prompt=turn.prompt.text if turn.prompt else UNKNOWN_PROMPT,
        status=status,
        plan_source="import",
        submitted_by_id=submitter,
        submitted_at=started,
        started_at=started,
        settled_at=ended,
        source_id=source,
    )
    node = PlanNode(
        id=new_id(),
        organization_id=agent.organization_id,
        task=task,
        index=1,
        agent=agent,
        instruction=cut(task.prompt, policy.node_instruction_chars),
        work_area="general",
        writes=False,
        status=status,
        attempts=1,
        started_at=started,
        finished_at=ended,
    )
    attempt = Attempt(
        id=new_id(),
        organization_id=agent.organization_id,
        task=task,
        node=node,
        agent=agent,
        number=1,
        status="interrupted" if turn.error == "interrupted" else status,
        fence=0,
        started_at=started,
        finished_at=ended,
        output=turn.answer.text if turn.answer else "",
        error=turn.error,
        error_detail=turn.detail,
        usage=dict(turn.usage),
    )
    return TurnRows(task=task, node=node, attempt=attempt)


def said_by_person(task: Task, said: Text, at: datetime, *, injected: bool = False) -> Message:
    """The prompt, or what was put before the agent beside it. Numbered later."""
    return _message(task, said, at, author_kind=AuthorKind.PERSON, injected=injected)


def said_by_agent(attempt: Attempt, said: Text, at: datetime) -> Message:
    """The answer. Numbered later."""
    return _message(
        attempt.task,
        said,
        at,
        author_kind=AuthorKind.AGENT,
        agent_id=attempt.agent_id,
        node_id=attempt.node_id,
        attempt_id=attempt.pk,
    )


def _message(task: Task, said: Text, at: datetime, **more: Any) -> Message:
    return Message(
        id=new_id(),
        organization_id=task.organization_id,
        team_id=task.team_id,
        task=task,
        text=said.text,
        findings=said.findings,
        at=at,
        **more,
    )


def _span(draft: SpanDraft, now: datetime, policy: Policy) -> Span:
    bounded = replace(draft, text=cut(draft.text, _READ_CHARS), data=_bounded(draft.data))
    row = span_row(new_id(), 0, bounded, at=now, policy=policy)
    row.data = {name: _cut(value, policy.span_text_chars) for name, value in row.data.items()}
    return row


def _bounded(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value[:_CHANGES_MAX] if isinstance(value, list) else _cut(value, _READ_CHARS)
        for name, value in data.items()
    }


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return cut(value, limit)
    if isinstance(value, list):
        return [{name: _cut(part, limit) for name, part in item.items()} for item in value]
    return value
