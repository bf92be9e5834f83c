"""The team's log: every message takes the next number from the team's own row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from apps.tasks.models import TeamScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A run of numbers taken from the team's row: `first` to `first + count - 1`."""

    first: int
    count: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.first + self.count))


def lock_scheduler(team: UUID) -> TeamScheduler:
    """The team's scheduler row, locked until the transaction ends."""
    scheduler = TeamScheduler.objects.select_for_update().filter(team_id=team).first()
    if scheduler is None:
        TeamScheduler.objects.get_or_create(team_id=team)
        scheduler = TeamScheduler.objects.select_for_update().get(team_id=team)
    return scheduler


def take_numbers(team: UUID, count: int) -> Numbers:
    """The next `count` message numbers; call inside the transaction that saves the messages, so that none is lost."""
    scheduler = lock_scheduler(team)
    TeamScheduler.objects.filter(pk=scheduler.pk).update(last_seq=F("last_seq") + count)
    return Numbers(first=scheduler.last_seq + 1, count=count)


def last_number(team: UUID) -> int:
    """The number of the newest message; 0 in an empty log."""
    return TeamScheduler.objects.filter(pk=team).values_list("last_seq", flat=True).first() or 0
