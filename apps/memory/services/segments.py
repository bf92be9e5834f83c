"""Opening and closing segments. At most one is open in a team; caps are checked before the topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from django.db.models import Sum
from django.db.models.functions import Length

from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import Recorder, recording
from apps.memory.models import CloseReason, Segment, SegmentStatus
from apps.memory.selectors import last_activity, open_segment, unassigned_task
from apps.tasks.models import Message, Task
from apps.tasks.selectors import TERMINAL
from apps.tasks.services.log import lock_scheduler
from tikitaka.errors import WrongState
from tikitaka.ledger.events import SegmentClosed, SegmentReopened
from tikitaka.policy import Policy
from tikitaka.segments.boundaries import Assignment, IncomingTask, OpenSegment, assign, is_idle
from tikitaka.segments.signals import SignalReading

ReadSignal = Callable[[Sequence[str], str], SignalReading | None]


def assign_next(*, team: UUID, read_signal: ReadSignal, policy: Policy) -> Task | None:
    """Gives the oldest task without a segment its segment, and returns it; None when there is none left.

    `read_signal` may need the encoder and is called outside the transaction; what it saw is checked again inside.
    """
    while True:
        task = unassigned_task(team)
        if task is None:
            return None
        segment = open_segment(team)
        prompts = _prompts(segment)
        assignment = assign(
            _as_open(segment, prompts),
            IncomingTask(prompt_chars=len(task.prompt), submitted_at=task.submitted_at),
            policy=policy,
            reading=read_signal(prompts, task.prompt) if prompts else None,
        )
        if _save(task, segment, len(prompts), assignment):
            return task


def close_idle(*, policy: Policy) -> list[UUID]:
    """Closes the open segments in which nothing happened for the idle time and no task runs."""
    closed = []
    for segment in Segment.objects.filter(status=SegmentStatus.OPEN):
        busy = Task.objects.filter(segment_id=segment.pk).exclude(status__in=TERMINAL).exists()
        if not busy and is_idle(last_activity(segment), clock.now(), policy):
            with recording(segment.organization_id) as ledger:
                if _close(segment, CloseReason.IDLE, None, ledger):
                    closed.append(segment.pk)
    return closed


def close_segment(*, segment: Segment) -> None:
    """Closes an open segment because somebody asks for its notes now."""
    with recording(segment.organization_id) as ledger:
        lock_scheduler(segment.team_id)
        if not _close(segment, CloseReason.BY_HAND, None, ledger):
            raise WrongState("the segment is closed already")


def reopen_if_alone(*, segment: Segment, ledger: Recorder) -> bool:
    """A resumed task's segment opens again only if no other is open in the team."""
    lock_scheduler(segment.team_id)
    if open_segment(segment.team_id) is not None:
        return False
    changed = Segment.objects.filter(pk=segment.pk, status=SegmentStatus.CLOSED).update(
        status=SegmentStatus.OPEN, close_reason="", closed_at=None, signal="", value_bp=None, threshold_bp=None
    )
    if changed:
        ledger.record(SegmentReopened(segment=segment.pk, team=segment.team_id))
    return bool(changed)


def _save(task: Task, segment: Segment | None, tasks_seen: int, assignment: Assignment) -> bool:
    with recording(task.organization_id) as ledger:
        lock_scheduler(task.team_id)
        current = open_segment(task.team_id)
        same = (current.pk if current else None) == (segment.pk if segment else None)
        if not same or len(_prompts(current)) != tasks_seen:
            return False
        if assignment.opens_new:
            if current is not None and assignment.close_reason is not None:
                _close(current, CloseReason(assignment.close_reason), assignment.reading, ledger)
            current = Segment.objects.create(
                id=new_id(), organization_id=task.organization_id, team_id=task.team_id, opened_at=clock.now()
            )
        if current is None:
            return False
        return bool(Task.objects.filter(pk=task.pk, segment_id__isnull=True).update(segment_id=current.pk))


def _close(segment: Segment, reason: CloseReason, reading: SignalReading | None, ledger: Recorder) -> bool:
    changed = Segment.objects.filter(pk=segment.pk, status=SegmentStatus.OPEN).update(
        status=SegmentStatus.CLOSED,
        close_reason=reason,
        closed_at=clock.now(),
        signal=reading.name if reading else "",
        value_bp=reading.value_bp if reading else None,
        threshold_bp=reading.threshold_bp if reading else None,
    )
    if changed:
        ledger.record(
            SegmentClosed(
                segment=segment.pk,
                team=segment.team_id,
                reason=reason.value,
                signal=reading.name if reading else None,
                value_bp=reading.value_bp if reading else None,
                threshold_bp=reading.threshold_bp if reading else None,
            )
        )
    return bool(changed)


def _prompts(segment: Segment | None) -> list[str]:
    if segment is None:
        return []
    return list(Task.objects.filter(segment_id=segment.pk).order_by("first_seq").values_list("prompt", flat=True))


def _as_open(segment: Segment | None, prompts: Sequence[str]) -> OpenSegment | None:
    if segment is None:
        return None
    tasks = Task.objects.filter(segment_id=segment.pk)
    chars = Message.objects.filter(task__in=tasks, injected=False).aggregate(chars=Sum(Length("text")))["chars"] or 0
    return OpenSegment(
        task_count=len(prompts), chars=chars, last_activity_at=last_activity(segment), prompts=tuple(prompts)
    )
