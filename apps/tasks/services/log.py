"""The team's log: every message takes the next number from the team's own row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.ledger import clock
from apps.ledger.queries import Query, Rows
from apps.ledger.sql import fetch, for_update
from apps.tasks.models import TeamScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The team's row as it was locked: the last message number, the last fencing number, and when."""

    last_seq: int
    last_fence: int
    now: datetime


def lock_scheduler(team: UUID) -> Scheduler:
    """The team's scheduler row, locked until the transaction ends."""
    found = locked_scheduler(team).ask()
    if found is None:
        make_scheduler(team)
        found = locked_scheduler(team).ask()
    if found is None:
        raise LookupError("the team's scheduler row is gone")
    return found


def locked_scheduler(team: UUID) -> Query[Scheduler | None]:
    """The query that locks the row; None before the team's first message."""
    return Query(
        f"SELECT last_seq, last_fence, {clock.column()} FROM tasks_teamscheduler WHERE team_id = %s{for_update()}",
        [team],
        _scheduler,
    )


def make_scheduler(team: UUID) -> None:
    """The row of a team that has none yet."""
    TeamScheduler.objects.get_or_create(team_id=team)


def _scheduler(rows: Rows) -> Scheduler | None:
    if not rows:
        return None
    last_seq, last_fence, moment = rows[0]
    return Scheduler(last_seq=last_seq, last_fence=last_fence, now=clock.read(moment))


def take_numbers(team: UUID, count: int) -> range:
    """The next `count` message numbers; call inside the transaction that saves the messages, so that none is lost."""
    taken = "UPDATE tasks_teamscheduler SET last_seq = last_seq + %s WHERE team_id = %s RETURNING last_seq"
    rows = fetch(taken, [count, team])
    if not rows:
        lock_scheduler(team)
        rows = fetch(taken, [count, team])
    last = int(rows[0][0])
    return range(last - count + 1, last + 1)


def log_end(team: UUID) -> Query[tuple[int, datetime]]:
    """The number of the newest message, 0 in an empty log, and the time at which it was the newest."""
    return Query(
        f"SELECT last_seq, {clock.column()} FROM tasks_teamscheduler WHERE team_id = %s",
        [team],
        lambda rows: (int(rows[0][0]), clock.read(rows[0][1])) if rows else (0, clock.now()),
    )
