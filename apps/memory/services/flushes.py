"""Flushes as rows: made when due, claimed with a fencing number, ended once. At most three counted attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q

from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import Recorder, recording
from apps.memory.models import Flush, FlushStatus, Segment
from apps.memory.selectors import (
    late_segments,
    ready_to_flush,
    segments_to_flush,
)
from apps.tasks.services.budgets import charge_call
from tikitaka.errors import WrongState
from tikitaka.ledger.events import ModelCalled, SegmentFlushed
from tikitaka.policy import Policy
from tikitaka.ports import ModelReply
from tikitaka.text import digest

_MARGIN_S = 120
_RETRY_S = 30
_RETRY_GROWTH = 4


class StaleFlush(WrongState):
    """Somebody else works on this flush now, or it is done."""

    code = "stale_flush"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedFlush:
    """A flush that the caller holds until its claim runs out."""

    flush: Flush
    claim: int


def make_due_flushes() -> list[UUID]:
    """The final flush of every segment that is closed, settled and unflushed."""
    made = []
    for segment in segments_to_flush():
        made += _make(segment, final=True)
    return made


def make_late_flushes(*, team: UUID) -> list[UUID]:
    """A flush more where a second recording of a session completed what the final one could not see."""
    made = []
    for segment in late_segments(team):
        made += _make(segment, final=False)
    return made


def make_early_flush(*, segment: Segment) -> list[UUID]:
    """A flush of what is finished so far in a long task, because its nodes have drifted."""
    return _make(segment, final=False)


def claim_flush(*, flush: UUID, policy: Policy) -> ClaimedFlush | None:
    """Takes a flush that is waiting, to be tried again, or whose holder died; None when it is not to be had.

    A wake-up may come late, when a resume has made its segment unready again. A reply that was paid for is worked on
    as often again as a model is asked; what fails then goes to a person.
    """
    now = clock.now()
    free = Q(status=FlushStatus.WAITING) | Q(
        status__in=[FlushStatus.RUNNING, FlushStatus.TIMED_OUT, FlushStatus.FAILED], claimed_until__lt=now
    )
    until = now + timedelta(seconds=policy.extractor_timeout_s + _MARGIN_S)
    changed = Flush.objects.filter(free, ready_to_flush(), pk=flush).update(
        status=FlushStatus.RUNNING, claim=F("claim") + 1, claimed_until=until
    )
    if not changed:
        return None
    row = Flush.objects.select_related("segment__team__organization").get(pk=flush)
    if len(row.attempts) >= policy.flush_attempts_max * (1 if row.reply is None else 2):
        Flush.objects.filter(pk=flush, claim=row.claim).update(
            status=FlushStatus.FAILED, reason="interrupted", finished_at=now
        )
        return None
    return ClaimedFlush(flush=row, claim=row.claim)


def count_attempt(*, claimed: ClaimedFlush, extractor: str, outcome: str = "started") -> None:
    """Counts an attempt before it begins, so that a crash loop ends."""
    flush = claimed.flush
    flush.attempts = [*flush.attempts, {"extractor": extractor, "outcome": outcome}]
    _guarded(claimed, attempts=flush.attempts, extractor=extractor)


def save_reply(*, claimed: ClaimedFlush, reply: ModelReply, sent: str, outcome: str, priced_as: str) -> None:
    """Keeps the raw reply and how the attempt went; a readable one is never asked for again."""
    flush = claimed.flush
    flush.attempts[-1] |= {
        "outcome": outcome,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "model": reply.model,
    }
    with recording(flush.organization_id) as ledger:
        changes: dict[str, Any] = {"attempts": flush.attempts}
        if outcome == "accepted":
            changes["reply"] = flush.reply = dict(reply.body or {})
        else:
            flush.attempts[-1]["raw"] = reply.body
        _guarded(claimed, **changes)
        team = flush.segment.team_id
        charge_call(
            organization=flush.organization_id, team=team, task=None, sent=sent, reply=reply, priced_as=priced_as
        )
        ledger.record(
            ModelCalled(
                call=new_id(),
                team=team,
                flush=flush.pk,
                purpose="extract",
                provider=reply.provider,
                model=reply.model,
                outcome=outcome,
                sent_digest=digest(sent),
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
            )
        )


def fail_flush(*, claimed: ClaimedFlush, reason: str) -> None:
    """Ends an attempt without notes; it is tried again after a while as long as attempts are left."""
    status = FlushStatus.TIMED_OUT if reason == "timeout" else FlushStatus.FAILED
    now = clock.now()
    again = now + timedelta(seconds=_RETRY_S * _RETRY_GROWTH ** max(len(claimed.flush.attempts) - 1, 0))
    with recording(claimed.flush.organization_id) as ledger:
        _guarded(claimed, status=status, reason=reason, claimed_until=again, finished_at=now)
        _record(claimed.flush, status, 0, (), reason, ledger)


def finish_flush(
    *,
    claimed: ClaimedFlush,
    nodes: Sequence[UUID],
    notes: int,
    dropped: Sequence[dict[str, Any]],
    reason: str,
    ledger: Recorder,
) -> None:
    """Marks the flush done in the transaction that saves its notes; raises StaleFlush when the claim was lost."""
    _guarded(
        claimed,
        status=FlushStatus.DONE,
        nodes=[str(node) for node in nodes],
        dropped=list(dropped),
        reason=reason,
        claimed_until=None,
        finished_at=clock.now(),
    )
    reasons = tuple(str(item["reason"]) for item in dropped)
    _record(claimed.flush, FlushStatus.DONE, notes, reasons, reason or None, ledger)


def reset_flushes(*, segment: Segment) -> None:
    """After a resume the segment's flushes wait again, and everything in it is covered anew."""
    Flush.objects.filter(segment=segment, final=False).update(
        status=FlushStatus.DONE, nodes=[], reason="resumed", claimed_until=None, claim=F("claim") + 1
    )
    Flush.objects.filter(segment=segment, final=True).update(
        status=FlushStatus.WAITING,
        attempts=[],
        reply=None,
        reason="",
        nodes=[],
        dropped=[],
        claimed_until=None,
        finished_at=None,
        claim=F("claim") + 1,
    )


def retry_flush(*, flush: Flush) -> None:
    """Three more attempts for a flush that has used up its own, because a person says that the model is back."""
    failed = Flush.objects.filter(pk=flush.pk, status__in=[FlushStatus.TIMED_OUT, FlushStatus.FAILED])
    changed = failed.update(
        status=FlushStatus.WAITING, attempts=[], reason="", claimed_until=None, finished_at=None, claim=F("claim") + 1
    )
    if not changed:
        raise WrongState("the flush has not failed")


def _make(segment: Segment, *, final: bool) -> list[UUID]:
    last = Flush.objects.filter(segment=segment).aggregate(last=Max("ordinal"))["last"] or 0
    try:
        with transaction.atomic():
            flush = Flush.objects.create(
                id=new_id(), organization_id=segment.organization_id, segment=segment, ordinal=last + 1, final=final
            )
    except IntegrityError:
        return []  # another worker made it; the row is there, which is all that matters
    return [flush.pk]


def _guarded(claimed: ClaimedFlush, **changes: Any) -> None:
    row = Flush.objects.filter(pk=claimed.flush.pk, claim=claimed.claim, status=FlushStatus.RUNNING)
    if not row.update(**changes):
        raise StaleFlush


def _record(
    flush: Flush, status: FlushStatus, notes: int, dropped: tuple[str, ...], reason: str | None, ledger: Recorder
) -> None:
    ledger.record(
        SegmentFlushed(
            segment=flush.segment_id,
            team=flush.segment.team_id,
            flush=flush.pk,
            status=status.value,
            extractor=flush.extractor,
            notes=notes,
            dropped=dropped,
            reason=reason,
        )
    )
