"""Reading the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery

from apps.ledger.models import Entry, Log, SealedValue
from apps.ledger.sealing import matches
from tikitaka.ledger.chain import Broken, StoredEntry, Verified, verify
from tikitaka.ledger.entries import timestamp
from tikitaka.ledger.events import KNOWN_TYPES, AccessDenied

_BATCH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogVerification:
    """What verifying one log gave."""

    origin: str
    entries: int
    result: Verified | Broken
    erased: int

    @property
    def valid(self) -> bool:
        return isinstance(self.result, Verified)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How long a log is, when it was opened, and how many of its entries record a refusal."""

    log: UUID
    size: int
    opened_at: datetime
    denials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place between two entries: everything before `seq` of this log, and every log before it, has been read."""

    log: UUID
    seq: int


def end_of_log(organization: UUID) -> Position | None:
    """Behind the last entry; None while the organization has no log."""
    row = Log.objects.filter(organization_id=organization).order_by("-incarnation").values_list("pk", "size").first()
    return None if row is None else Position(log=row[0], seq=row[1])


def entries_from(organization: UUID, position: Position | None, *, types: tuple[str, ...], limit: int) -> list[Entry]:
    """The next entries of these types, at most `limit`. An entry never appears before one with a lower number.

    The head of a log is locked until its entries are committed, so nothing is passed over that would come later.
    """
    chain = list(Log.objects.filter(organization_id=organization).order_by("incarnation").values_list("pk", flat=True))
    start = 0 if position is None else position.seq
    if position is not None:
        chain = chain[chain.index(position.log) :]
    found: list[Entry] = []
    for log in chain:
        rows = Entry.objects.filter(log_id=log, type__in=types, seq__gte=start).order_by("seq")
        found += rows[: limit - len(found)]
        if len(found) == limit:
            break
        start = 0
    return found


def logs(organization: UUID | None = None) -> QuerySet[Log]:
    """All logs, or those of one organization, oldest first."""
    found = Log.objects.order_by("origin")
    return found if organization is None else found.filter(organization_id=organization)


def entries(
    organization: UUID, *, subject: UUID | None = None, types: tuple[str, ...] = (), team: UUID | None = None
) -> QuerySet[Entry]:
    """Entries of an organization in the order of the log."""
    found = Entry.objects.filter(log__organization_id=organization).order_by("log", "seq")
    if subject is not None:
        found = found.filter(subject_id=str(subject))
    if team is not None:
        found = found.filter(team_id=str(team))
    return found.filter(type__in=types) if types else found


def heads() -> list[Head]:
    """Every log that has an entry, one query; indexes find the first entry and the refusals."""
    denied = Entry.objects.filter(log=OuterRef("pk"), type=AccessDenied.type).order_by().values("log")
    first = Entry.objects.filter(log=OuterRef("pk"), seq=0).values("recorded_at")
    rows = Log.objects.filter(size__gt=0).annotate(
        opened_at=Subquery(first), denials=Subquery(denied.annotate(n=Count("pk")).values("n"))
    )
    return [
        Head(log=log, size=size, opened_at=opened_at, denials=denials or 0)
        for log, size, opened_at, denials in rows.order_by("origin").values_list("pk", "size", "opened_at", "denials")
    ]


def header(entry: Entry) -> dict[str, Any]:
    """The entry's header as a document."""
    document: dict[str, Any] = json.loads(entry.header)
    return document


def verify_log(log: Log) -> LogVerification:
    """Recomputes the whole chain from the stored bytes and opens every sealed value whose key is still there."""
    result = verify(_stored(log), origin=log.origin, known_types=KNOWN_TYPES, size=log.size, tip=log.tip)
    erased = 0
    if isinstance(result, Verified):
        fault, erased = _check_sealed(log)
        result = fault or result
    return LogVerification(origin=log.origin, entries=log.size, result=result, erased=erased)


def _stored(log: Log) -> Iterator[StoredEntry]:
    rows = log.entries.order_by("seq").values_list(
        "header", "leaf", "id", "seq", "type", "actor_id", "subject_kind", "subject_id", "team_id", "recorded_at"
    )
    for text, leaf, identity, seq, kind, actor, subject_kind, subject, team, recorded_at in rows.iterator(_BATCH):
        yield StoredEntry(
            header=text.encode(),
            leaf=leaf,
            copies={
                "id": str(identity),
                "seq": seq,
                "type": kind,
                "actor.id": actor,
                "subject.kind": subject_kind,
                "subject.id": subject,
                "recorded_at": timestamp(recorded_at),
                **_team_copy(subject_kind, subject, team),
            },
        )


def _team_copy(subject_kind: str, subject: str, team: str) -> dict[str, str | None]:
    """The column `team_id` as the header has it: an entry about a team may say so by its subject alone."""
    if subject_kind == "team":
        return {} if team == subject else {"context.team": team}
    return {"context.team": team or None}


def _check_sealed(log: Log) -> tuple[Broken | None, int]:
    """Every value that an entry commits to must be there and open; with its key destroyed it counts as erased."""
    erased = 0
    missing = _committed(log)
    sealed = SealedValue.objects.filter(entry__log=log).select_related("entry", "key").order_by("entry__seq")
    for value in sealed.iterator(_BATCH):
        missing.discard((value.entry.seq, value.field))
        if value.key.wrapped is None:
            erased += 1
        elif not matches(value, header(value.entry)["sealed"].get(value.field)):
            detail = f"the sealed field {value.field} is not what the entry commits to"
            return Broken(seq=value.entry.seq, rule="seal", detail=detail), erased
    if missing:
        seq, name = min(missing)
        return Broken(seq=seq, rule="seal", detail=f"the sealed field {name} is gone"), erased
    return None, erased


def _committed(log: Log) -> set[tuple[int, str]]:
    rows = log.entries.exclude(header__contains='"sealed":{}').values_list("seq", "header")
    return {(seq, name) for seq, text in rows.iterator(_BATCH) for name in json.loads(text)["sealed"]}
