"""Reading the memory: segments, what is due, notes and what an agent holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.selectors import containers_with
from apps.ledger.queries import Query
from apps.ledger.rows import Condition, equal, every, instances
from apps.ledger.sql import as_moment, as_uuid, fetch, marks
from apps.memory.models import (
    Flush,
    FlushStatus,
    Landing,
    LandingStatus,
    Note,
    ReviewItem,
    Segment,
    SegmentStatus,
)
from apps.tasks.models import Message, PlanNode, Task, TaskStatus
from apps.tasks.selectors import TERMINAL
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import NotFound
from tikitaka.review.states import NoteStatus

LIVE_NOTES = (NoteStatus.PENDING, NoteStatus.QUARANTINED, NoteStatus.APPROVED, NoteStatus.ACTIVE)
LIVE_LANDINGS = (LandingStatus.INTENDED, LandingStatus.LANDED, LandingStatus.DRIFTED)


def access_note(actor: Principal, note: UUID, permission: Permission) -> Note:
    """The note of a team on which the permission is held; absent and forbidden give the same NotFound."""
    teams = containers_with(actor, permission, Team)
    found = Note.objects.select_related("team__organization").filter(pk=note, team__in=teams).first()
    if found is None:
        raise NotFound("no such note")
    return found


def open_segment(team: UUID) -> Segment | None:
    """The one open segment of the team, if any."""
    return Segment.objects.filter(team_id=team, status=SegmentStatus.OPEN).first()


def segment_tasks(segment: UUID | None) -> list[UUID]:
    """The tasks that a segment owns, in the order of the team's log."""
    if segment is None:
        return []
    rows = fetch("SELECT id FROM tasks_task WHERE segment_id = %s ORDER BY first_seq", [segment])
    return [as_uuid(task) for (task,) in rows]


def segment_of_running(task: UUID) -> UUID | None:
    """The segment of a task that is still running; asked after every end, so hand-written."""
    rows = fetch("SELECT segment_id FROM tasks_task WHERE id = %s AND status = %s", [task, TaskStatus.RUNNING.value])
    return as_uuid(rows[0][0]) if rows and rows[0][0] else None


def last_activity(segment: Segment) -> datetime:
    """When something was last said in a segment."""
    tasks = Task.objects.filter(segment_id=segment.pk)
    newest = Message.objects.filter(task__in=tasks).order_by("-seq").values_list("at", flat=True).first()
    return max(newest, segment.opened_at) if newest else segment.opened_at


def unassigned_task(team: UUID) -> Task | None:
    """The oldest task that no segment owns yet."""
    return Task.objects.filter(team_id=team, segment_id__isnull=True).order_by("first_seq").first()


def teams_with_unassigned_tasks() -> list[UUID]:
    """Where assignment has work."""
    return list(Task.objects.filter(segment_id__isnull=True).values_list("team_id", flat=True).distinct())


def segments_to_flush() -> QuerySet[Segment]:
    """Closed segments whose tasks are all terminal and that have no final flush yet, whatever died."""
    running = Task.objects.filter(segment_id=OuterRef("pk")).exclude(status__in=TERMINAL)
    final = Flush.objects.filter(segment_id=OuterRef("pk"), final=True)
    return Segment.objects.filter(~Exists(running), ~Exists(final), status=SegmentStatus.CLOSED)


def late_segments(team: UUID) -> list[Segment]:
    """Segments whose final flush is done and does not cover imported work in them: its gaps were filled since."""
    imported = Task.objects.filter(segment_id=OuterRef("pk"), source_id__isnull=False)
    flushes = Flush.objects.filter(segment_id=OuterRef("pk"))
    done, open_ones = flushes.filter(final=True, status=FlushStatus.DONE), flushes.exclude(status=FlushStatus.DONE)
    rows = Segment.objects.filter(
        Exists(imported), Exists(done), ~Exists(open_ones), team_id=team, status=SegmentStatus.CLOSED
    )
    return [row for row in rows if uncovered_nodes(row.pk, segment_tasks(row.pk))]


def ready_to_flush() -> Q:
    """Of a flush: early ones always are, a final one when its segment is closed and all its tasks are terminal.

    Without a join, so that a guarded update asks again after it waited for the row.
    """
    closed = Segment.objects.filter(pk=OuterRef("segment_id"), status=SegmentStatus.CLOSED)
    unsettled = Task.objects.filter(segment_id=OuterRef("segment_id")).exclude(status__in=TERMINAL)
    return Q(final=False) | (Q(Exists(closed)) & ~Q(Exists(unsettled)))


def due_flushes(now: datetime, attempts_max: int) -> list[UUID]:
    """Flushes that somebody should work on now: waiting, to be tried again, or left behind by whoever died."""
    return [flush for flush, _ in flushes_due_since(now, attempts_max)]


def flushes_due_since(now: datetime, attempts_max: int) -> list[tuple[UUID, datetime]]:
    """The same, each with the time since when it waits."""
    again = [FlushStatus.RUNNING, FlushStatus.TIMED_OUT, FlushStatus.FAILED]
    free = Q(status=FlushStatus.WAITING) | Q(status__in=again, claimed_until__lt=now)
    rows = Flush.objects.filter(free, ready_to_flush())
    return [
        (pk, claimed_until or created_at)
        for pk, attempts, status, created_at, claimed_until in rows.values_list(
            "pk", "attempts", "status", "created_at", "claimed_until"
        )
        if status in (FlushStatus.WAITING, FlushStatus.RUNNING) or len(attempts) < attempts_max
    ]


def exhausted_flushes(attempts_max: int) -> list[Flush]:
    """Flushes that used up their attempts without an accepted reply."""
    rows = Flush.objects.filter(status__in=[FlushStatus.TIMED_OUT, FlushStatus.FAILED]).select_related("segment")
    return [row for row in rows if len(row.attempts) >= attempts_max]


def prunable_tasks(until: datetime) -> QuerySet[Task]:
    """Tasks that ended by then and whose words nothing needs any more: distilled to the end, cited by no live note.

    A revoked note counts as long as a block of it lies in a file.
    """
    flushes = Flush.objects.filter(segment_id=OuterRef("segment_id"))
    closed = Segment.objects.filter(pk=OuterRef("segment_id"), status=SegmentStatus.CLOSED)
    landings = Landing.objects.filter(note_id=OuterRef("note_id"), status__in=LIVE_LANDINGS)
    live = Q(note__status__in=LIVE_NOTES) | Q(Exists(landings))
    attempts = Note.cited_attempts.through.objects.filter(live, attempt__task_id=OuterRef("pk"))
    spans = Note.cited_spans.through.objects.filter(live, span__attempt__task_id=OuterRef("pk"))
    return Task.objects.filter(
        Exists(closed),
        Exists(flushes.filter(final=True)),
        ~Exists(flushes.exclude(status=FlushStatus.DONE)),
        ~Exists(attempts),
        ~Exists(spans),
        status__in=TERMINAL,
        settled_at__lte=until,
        pruned_at__isnull=True,
    )


def finished_nodes(tasks: Collection[UUID]) -> list[UUID]:
    """The completed nodes of some tasks, in order of their end."""
    rows = PlanNode.objects.filter(task__in=tasks, status="completed").order_by("finished_at", "task", "index")
    return list(rows.values_list("pk", flat=True))


def uncovered_nodes(segment: UUID, tasks: Collection[UUID]) -> list[UUID]:
    """The finished nodes of some tasks of a segment that none of its accepted flushes has covered, in order of end."""
    rows = Flush.objects.filter(segment_id=segment, status=FlushStatus.DONE).values_list("nodes", flat=True)
    covered = {node for nodes in rows for node in nodes}
    return [node for node in finished_nodes(tasks) if str(node) not in covered]


def participants(segment: Segment, everybody: Collection[UUID]) -> set[UUID]:
    """Who may receive notes of a segment: the agents that took part in it; everybody where work was brought in."""
    tasks = Task.objects.filter(segment_id=segment.pk)
    if tasks.filter(source_id__isnull=False).exists():
        return set(everybody)
    return set(PlanNode.objects.filter(task__in=tasks, attempts__gt=0).values_list("agent_id", flat=True))


def notes_to_land(now: datetime) -> list[UUID]:
    """Approved notes that nobody lands at the moment, in teams that are not paused."""
    return list(landable_notes(now).order_by("created_at").values_list("pk", flat=True))


def landable_notes(now: datetime) -> QuerySet[Note]:
    """The same as rows."""
    return Note.objects.filter(
        Q(landing_until__isnull=True) | Q(landing_until__lt=now),
        status=NoteStatus.APPROVED,
        team__paused_at__isnull=True,
        team__archived_at__isnull=True,
        organization__paused_at__isnull=True,
    )


def landings_to_remove() -> list[UUID]:
    """Landings whose block must go, whatever stopped it before."""
    return list(removable_landings().order_by("remove_requested_at").values_list("pk", flat=True))


def removable_landings() -> QuerySet[Landing]:
    """The same as rows."""
    return Landing.objects.filter(status__in=LIVE_LANDINGS, remove_requested_at__isnull=False)


def expired_notes(now: datetime) -> list[UUID]:
    """Active or approved notes whose time is over."""
    rows = Note.objects.filter(status__in=[NoteStatus.ACTIVE, NoteStatus.APPROVED], expires_at__lte=now)
    return list(rows.values_list("pk", flat=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the record says an agent holds: a landing with as much of its note as whoever reads it needs."""

    landing: UUID
    note: UUID
    agent: UUID
    organization: UUID
    team: UUID
    file: str
    block_digest: str
    status: LandingStatus
    content: str
    description: str
    severity: str
    landed_at: datetime


_HELD = (
    "SELECT l.id, l.note_id, l.agent_id, l.organization_id, n.team_id, l.file, l.block_digest, l.status,"
    " n.content, n.description, n.severity, l.landed_at, l.intended_at"
    " FROM memory_landing l JOIN memory_note n ON n.id = l.note_id"
    " WHERE l.agent_id = %s AND l.status IN ('landed', 'drifted') AND l.remove_requested_at IS NULL"
    " AND n.status = 'active' ORDER BY l.landed_at, l.id"
)


def held_landings(agent: UUID) -> list[Held]:
    """What an agent holds: landed, of an active note, not about to be removed; oldest first."""
    return [_held(*row) for row in fetch(_HELD, [agent])]


def _held(*row: Any) -> Held:
    landing, note, agent, organization, team, file, block_digest, status, content, description, severity, *times = row
    landed_at = next(moment for moment in map(as_moment, times) if moment is not None)
    return Held(
        landing=as_uuid(landing),
        note=as_uuid(note),
        agent=as_uuid(agent),
        organization=as_uuid(organization),
        team=as_uuid(team),
        file=file,
        block_digest=block_digest,
        status=LandingStatus(status),
        content=content,
        description=description,
        severity=severity,
        landed_at=landed_at,
    )


def agents_with_landings(agents: Sequence[UUID]) -> Query[set[UUID]]:
    """Which of some agents have anything landed at all: for the others no file needs to be looked at."""
    return Query(
        f"SELECT DISTINCT agent_id FROM memory_landing WHERE agent_id IN ({marks(agents)})"
        " AND status IN ('landed', 'drifted')",
        agents,
        lambda rows: {as_uuid(agent) for (agent,) in rows},
    )


def file_landings(agent: UUID, file: str) -> QuerySet[Landing]:
    """The landings that a file consists of by the record, oldest first."""
    return (
        Landing.objects.filter(agent_id=agent, file=file, status__in=[LandingStatus.LANDED, LandingStatus.DRIFTED])
        .select_related("note")
        .order_by("intended_at", "id")
    )


def open_items(organization: UUID) -> QuerySet[ReviewItem]:
    """The review queue of an organization: by due time, then id."""
    rows = ReviewItem.objects.filter(organization_id=organization, closed_at__isnull=True)
    return rows.select_related("note__team").order_by("due_at", "id")


def current_item(note: Note) -> ReviewItem | None:
    """The open review item of a note."""
    present = Condition("note_version = (SELECT version FROM memory_note WHERE memory_note.id = note_id)")
    of_note = equal("note_id", note.pk)
    found = instances(ReviewItem, every((of_note, equal("closed_at", None), present))).ask()
    return found[0] if found else None
