"""The figures by set-wise queries: a fixed number of them, however many rows there are.

Several processes answer the same, since nothing is kept in any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import CharField, Count, F, Min, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce

from apps.conductor.models import Incident, LogCheck, RefusedCalls
from apps.conductor.ready import Queues, queues
from apps.conductor.webhooks.selectors import waiting_deliveries
from apps.ledger import clock
from apps.ledger.selectors import Head, heads
from apps.ledger.sql import fetch
from apps.memory.models import Decision, Flush, FlushStatus, Landing, Note, Recipient, ReviewItem
from apps.memory.selectors import LIVE_LANDINGS, flushes_due_since, landable_notes
from apps.providers.models import EmbedRequest
from apps.tasks.models import Attempt, Task, TaskStatus

_RECENT = timedelta(hours=1)


class Stage(NamedTuple):
    """How much waits at one stage, and for how many seconds the oldest of it."""

    depth: int
    oldest_s: float


class Counted(NamedTuple):
    """How many rows of one kind carry the same two words."""

    kind: str
    first: str
    second: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long what ended within the last hour took."""

    count: int
    median_s: float
    longest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One log: how long it is, how long ago it was verified (opened, if it never was), and what came of it."""

    log: UUID
    size: int
    age_s: float
    valid: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything at one moment."""

    stages: Mapping[str, Stage]
    held: Mapping[str, int]
    counts: tuple[Counted, ...]
    redactions: Mapping[str, int]
    landings: Mapping[str, int]
    flushes: Latency
    reviews: Latency
    chains: tuple[Chain, ...]
    denials: int


def figures() -> Figures:
    """Asks the database; eleven queries, and one more for the time where the database has its own."""
    now = clock.now()
    teams, logs = queues(now), heads()
    landings, removals = _landings(now)
    stages = {**_node_stages(teams, now), **_row_stages(now), "landings_to_remove": removals}
    flushes = Flush.objects.filter(status=FlushStatus.DONE, finished_at__gte=now - _RECENT)
    reviews = ReviewItem.objects.filter(closed_at__gte=now - _RECENT)
    return Figures(
        stages=stages,
        held=_held(teams),
        counts=tuple(_counts()),
        redactions=_redactions(),
        landings=landings,
        flushes=_latency(flushes.values_list("created_at", "finished_at")),
        reviews=_latency(reviews.values_list("opened_at", "closed_at")),
        chains=tuple(_chains(logs, now)),
        denials=sum(head.denials for head in logs),
    )


def _node_stages(teams: Queues, now: datetime) -> dict[str, Stage]:
    ready = [moment for team in teams.teams for moment in team.ready_since]
    due = [moment for _, moment in flushes_due_since(now, settings.TIKITAKA_POLICY.flush_attempts_max)]
    return {
        "ready_nodes": _stage(len(ready), min(ready, default=None), now),
        "expired_leases": _stage(len(teams.expired_since), min(teams.expired_since, default=None), now),
        "due_flushes": _stage(len(due), min(due, default=None), now),
    }


def _row_stages(now: datetime) -> dict[str, Stage]:
    """The stages that are plain counts of rows, in one query."""
    decided = Decision.objects.filter(note=OuterRef("pk")).order_by("-at").values("at")[:1]
    unplanned = Task.objects.filter(status__in=[TaskStatus.QUEUED, TaskStatus.PLANNING])
    approved = landable_notes(now).annotate(since=Coalesce(Subquery(decided), F("created_at")))
    parts = (
        _counted("unplanned_tasks", unplanned, "submitted_at"),
        _counted("unencoded_requests", EmbedRequest.objects.filter(done_at__isnull=True), "created_at"),
        _counted("open_reviews", ReviewItem.objects.filter(closed_at__isnull=True), "opened_at"),
        _counted("notes_to_land", approved, "since"),
        _counted("webhook_deliveries", waiting_deliveries(), "waiting_since"),
    )
    return {name: _stage(depth, oldest, now) for name, depth, oldest in parts[0].union(*parts[1:], all=True)}


def _counted(name: str, rows: QuerySet[Any], since: str) -> Any:
    named = rows.order_by().annotate(stage=Value(name, output_field=CharField())).values("stage")
    return named.annotate(depth=Count("pk"), oldest=Min(since)).values_list("stage", "depth", "oldest")


def _stage(depth: int, oldest: datetime | None, now: datetime) -> Stage:
    return Stage(depth, max((now - oldest).total_seconds(), 0.0) if oldest is not None else 0.0)


def _held(teams: Queues) -> dict[str, int]:
    found: dict[str, int] = {}
    for team in teams.teams:
        for hold in team.held.values():
            found[hold.value] = found.get(hold.value, 0) + 1
    return found


def _counts() -> Iterable[Counted]:
    """Rows by their words, all kinds in one query."""
    parts = (
        _by("attempt", Attempt.objects.all(), "status", "error"),
        _by("note", Note.objects.all(), "status"),
        _by("verdict", Recipient.objects.all(), "verdict", "reason"),
        _by("decision", Decision.objects.all(), "verdict"),
        _by("incident", Incident.objects.filter(closed_at__isnull=True), "kind"),
    )
    refused = RefusedCalls.objects.annotate(kind=Value("refused"), second=Value(""))
    rows = parts[0].union(*parts[1:], refused.values_list("kind", "door", "second", "count"), all=True)
    return [Counted(*row) for row in rows]


def _by(kind: str, rows: QuerySet[Any], *columns: str) -> Any:
    words = {"first": F(columns[0]), "second": F(columns[1]) if len(columns) > 1 else Value("")}
    named = rows.order_by().annotate(
        what=Value(kind), **{name: Cast(word, CharField()) for name, word in words.items()}
    )
    return named.values("what", "first", "second").annotate(n=Count("pk")).values_list("what", "first", "second", "n")


_SECRETS = {
    "sqlite": "SELECT json_extract(found.value, '$.rule'), COUNT(*) FROM memory_note, json_each(findings) AS found"
    " WHERE redacted AND json_extract(found.value, '$.family') = 'secret' GROUP BY 1",
    "postgresql": "SELECT found ->> 'rule', COUNT(*) FROM memory_note, jsonb_array_elements(findings) AS found"
    " WHERE redacted AND found ->> 'family' = 'secret' GROUP BY 1",
}


def _redactions() -> dict[str, int]:
    """Secrets that were replaced in notes, by the rule that saw them."""
    return dict(fetch(_SECRETS[connection.vendor]))


def _landings(now: datetime) -> tuple[dict[str, int], Stage]:
    leaving = Q(status__in=LIVE_LANDINGS, remove_requested_at__isnull=False)
    rows = Landing.objects.values("status").annotate(
        n=Count("pk"), leaving=Count("pk", filter=leaving), oldest=Min("remove_requested_at", filter=leaving)
    )
    found = list(rows.values_list("status", "n", "leaving", "oldest"))
    oldest = min((row[3] for row in found if row[3] is not None), default=None)
    return {row[0]: row[1] for row in found}, _stage(sum(row[2] for row in found), oldest, now)


def _latency(pairs: Iterable[tuple[datetime, datetime | None]]) -> Latency:
    taken = [(end - start).total_seconds() for start, end in pairs if end is not None]
    return Latency(count=len(taken), median_s=median(taken) if taken else 0.0, longest_s=max(taken, default=0.0))


def _chains(logs: Iterable[Head], now: datetime) -> Iterable[Chain]:
    checks = {row.log: row for row in LogCheck.objects.all()}
    for head in logs:
        check = checks.get(head.log)
        age = (now - (check.checked_at if check else head.opened_at)).total_seconds()
        yield Chain(log=head.log, size=head.size, age_s=max(age, 0.0), valid=check.valid if check else None)
