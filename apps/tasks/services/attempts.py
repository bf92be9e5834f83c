"""What a holder writes while its attempt runs. Every write shows the fencing number; a stale one changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from apps.ledger import clock
from apps.ledger.queries import Query
from apps.ledger.sql import Statements, as_uuid, fetch, for_update, marks
from apps.ledger.writing import writing
from apps.tasks.models import AgentLease, Attempt, AttemptStatus, Span, ThreadCursor
from apps.teams.models import Agent
from tikitaka.capture.events import SpanDraft
from tikitaka.errors import WrongState
from tikitaka.policy import Policy
from tikitaka.safety import Finding, redact_captured
from tikitaka.text import clean_captured, cut

_HELD = "SELECT 1 FROM tasks_attempt WHERE id = %s AND fence = %s AND status = %s"
_SAVE_SPAN = (
    "INSERT INTO tasks_span (attempt_id, seq, kind, status, text, data, injected, findings, at)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (attempt_id, seq) DO UPDATE SET kind = excluded.kind, status = excluded.status,"
    " text = excluded.text, data = excluded.data, injected = excluded.injected, findings = excluded.findings"
)
_REDACTED_LENGTHS = 16
_NO_THREAD = ""
_THREAD_CHARS = 200


class StaleHolder(WrongState):
    """Somebody else holds this attempt now, or it has ended."""

    code = "stale_holder"


class AttemptOver(WrongState):
    """The attempt has ended: it was reported, its lease ran out, or its task was cancelled."""

    code = "attempt_over"


def held_attempts(attempts: Sequence[UUID]) -> Query[set[tuple[UUID, int]]]:
    """Which of some attempts still run, each with the fencing number of its holder."""
    return Query(
        f"SELECT id, fence FROM tasks_attempt WHERE id IN ({marks(attempts)}) AND status = 'running'",
        attempts,
        lambda rows: {(as_uuid(attempt), fence) for attempt, fence in rows},
    )


def expired_attempts(attempts: Sequence[UUID], *, at: datetime) -> set[UUID]:
    """Which of some attempts have a lease that ran out, locked so that none is renewed before the transaction ends."""
    rows = fetch(
        f"SELECT attempt_id FROM tasks_agentlease WHERE attempt_id IN ({marks(attempts)}) AND expires_at < %s"
        f"{for_update()}",
        [*attempts, at],
    )
    return {as_uuid(attempt) for (attempt,) in rows}


def renew(attempts: Collection[UUID], *, policy: Policy) -> set[UUID]:
    """Extends the leases that are still held and returns which those are; a lost lease means: stop.

    Each by itself: whoever ends several at once holds some of them and waits for the others, in an order of its own.
    """
    now = clock.now()
    extended = {"heartbeat_at": now, "expires_at": now + timedelta(seconds=policy.lease_s)}
    return {attempt for attempt in attempts if AgentLease.objects.filter(attempt=attempt).update(**extended)}


def save_spans(*, attempt: UUID, fence: int, spans: Sequence[tuple[int, SpanDraft]], policy: Policy) -> None:
    """Stores numbered spans, redacted; the original is not kept. A number that comes again replaces the span."""
    now = clock.now()
    store_spans(
        attempt=attempt, fence=fence, rows=[span_values(attempt, seq, d, at=now, policy=policy) for seq, d in spans]
    )


def span_values(attempt: UUID, seq: int, draft: SpanDraft, *, at: datetime, policy: Policy) -> tuple[Any, ...]:
    """A span as the row that `store_spans` takes: whatever is slow about it is done before any transaction."""
    return (attempt, seq, *_columns(draft, at, policy).values())


def store_spans(*, attempt: UUID, fence: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """Stores redacted spans while their holder still holds the attempt. Of two with one number the later counts.

    One statement may not touch a row twice, as PostgreSQL says.
    """
    rows = list({row[1]: row for row in rows}.values())
    with writing(), Statements() as database:
        held = database.fetch(_HELD + for_update(), (attempt, fence, AttemptStatus.RUNNING.value))
        if not held:
            raise StaleHolder
        database.execute_many(_SAVE_SPAN, rows)


def span_row(attempt: UUID, seq: int, draft: SpanDraft, *, at: datetime, policy: Policy) -> Span:
    """One span as it may be stored."""
    return Span(attempt_id=attempt, seq=seq, **_columns(draft, at, policy))


def _columns(draft: SpanDraft, at: datetime, policy: Policy) -> dict[str, Any]:
    """What is stored of a draft, by column: cleaned, redacted, cut at a character boundary."""
    redaction = redact_captured(clean_captured(_bounded(draft.text, policy.span_text_chars)))
    return {
        "kind": draft.kind,
        "status": draft.status,
        "text": cut(redaction.text, policy.span_text_chars),
        "data": _redacted_data(draft.data, policy.span_text_chars),
        "injected": draft.injected,
        "findings": finding_rows(redaction.findings),
        "at": draft.at or at,
    }


def finding_rows(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Findings as stored beside a text; they never hold what was found."""
    return [asdict(finding) for finding in findings]


def clean_thread_id(text: str) -> str:
    """The name that a program gave its thread, as it may be stored."""
    return cut(clean_captured(text), _THREAD_CHARS)


def move_cursor(*, attempt: UUID, fence: int, agent: UUID, thread_id: str, shown_to_seq: int) -> None:
    """Notes how far a thread has been shown the log: to the frozen bound and no further.

    A thread that ran while the agent's threads were closed knows what was taken back meanwhile; it is kept closed.
    """
    with writing():
        _lock_threads([agent])
        held = Attempt.objects.select_for_update().filter(pk=attempt, fence=fence, status=AttemptStatus.RUNNING).first()
        if held is None:
            raise StaleHolder
        now = clock.now()
        closed = ThreadCursor.objects.filter(agent_id=agent, closed_at__gte=held.started_at).exists()
        cursor, created = ThreadCursor.objects.get_or_create(
            agent_id=agent,
            thread_id=thread_id,
            defaults={"shown_to_seq": shown_to_seq, "updated_at": now, "closed_at": now if closed else None},
        )
        if not created and cursor.shown_to_seq < shown_to_seq:
            ThreadCursor.objects.filter(pk=cursor.pk).update(shown_to_seq=shown_to_seq, updated_at=now)


def close_threads(agents: Collection[UUID]) -> None:
    """A thread remembers what it was given; after a grant or a removal the agent starts a new one.

    A thread that runs for the first time has no cursor yet, so the moment is kept under no thread's name as well.
    """
    with writing():
        _lock_threads(agents)
        now = clock.now()
        ThreadCursor.objects.filter(agent_id__in=agents, closed_at__isnull=True).update(closed_at=now)
        ThreadCursor.objects.bulk_create(
            [
                ThreadCursor(agent_id=agent, thread_id=_NO_THREAD, shown_to_seq=0, updated_at=now, closed_at=now)
                for agent in agents
            ],
            update_conflicts=True,
            unique_fields=["agent", "thread_id"],
            update_fields=["updated_at", "closed_at"],
        )


def _lock_threads(agents: Collection[UUID]) -> None:
    """Moving and closing wait for each other: neither sees a cursor that the other has not committed."""
    list(Agent.objects.select_for_update(no_key=True).filter(pk__in=agents).order_by("pk").values_list("pk"))


def _bounded(text: str, limit: int) -> str:
    """What is worth redacting of a text that is cut to `limit` afterwards: a program may print megabytes in one line.

    The bound lies far behind the cut, and a word that it would split is left out: half a secret matches no rule.
    """
    bound = limit * _REDACTED_LENGTHS
    if len(text) <= bound:
        return text
    whole = text[:bound].rsplit(maxsplit=1)
    return whole[0] if len(whole) == 2 else ""


def _redacted_data(data: object, limit: int) -> object:
    """The same for structured data: keys and values alike, each text cut to `limit` characters."""
    if isinstance(data, str):
        return cut(redact_captured(clean_captured(_bounded(data, limit))).text, limit)
    if isinstance(data, Mapping):
        return {str(_redacted_data(str(key), limit)): _redacted_data(value, limit) for key, value in data.items()}
    if isinstance(data, list):
        return [_redacted_data(value, limit) for value in data]
    return data
