"""The team's log: every message takes the next number from the team's own row."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from apps.ledger.sql import execute, fetch, for_update
from apps.tasks.models import TeamScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The team's row as it was locked: the last message number, the last fencing number."""

    last_seq: int
    last_fence: int


def lock_scheduler(team: UUID) -> Scheduler:
    """The team's scheduler row, locked until the transaction ends."""
    select = f"SELECT last_seq, last_fence FROM tasks_teamscheduler WHERE team_id = %s{for_update()}"
    rows = fetch(select, [team])
    if not rows:
        TeamScheduler.objects.get_or_create(team_id=team)
        rows = fetch(select, [team])
    return Scheduler(last_seq=rows[0][0], last_fence=rows[0][1])


def take_numbers(team: UUID, count: int) -> range:
    """The next `count` message numbers; call inside the transaction that saves the messages, so that none is lost."""
    first = lock_scheduler(team).last_seq + 1
    execute("UPDATE tasks_teamscheduler SET last_seq = last_seq + %s WHERE team_id = %s", [count, team])
    return range(first, first + count)


def last_number(team: UUID) -> int:
    """The number of the newest message; 0 in an empty log."""
    rows = fetch("SELECT last_seq FROM tasks_teamscheduler WHERE team_id = %s", [team])
    return int(rows[0][0]) if rows else 0
