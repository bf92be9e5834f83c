"""Appending to a chain: lock the head, place the entries, insert them, move the head. Hand-written statements.

The object mapper costs six times as much here (reference: the benchmark of the ledger), and every transition of the
product passes through these few lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from apps.ledger.ids import new_id
from apps.ledger.sealing import SealedField, store
from tikitaka.ledger.entries import SYSTEM, Draft, Entry, Head, clock_stepped, place
from tikitaka.ledger.events import ClockStepped, Event, LogOpened

_INSERT = (
    "INSERT INTO ledger_entry (id, log_id, seq, header, leaf, type, actor_id, subject_kind, subject_id, team_id,"
    " recorded_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)


def append(organization: UUID, drafts: Sequence[Draft], sealed: Sequence[SealedField]) -> Head:
    """Puts `drafts` at the end of the organization's open log; call inside a transaction, as its last act."""
    log, head, now = _locked_head(organization)
    rows: list[tuple[Any, ...]] = []
    back_ms = clock_stepped(head, now)
    extra = [_draft(ClockStepped(organization=organization, back_ms=back_ms), now)] if back_ms else []
    if head.size == 0:
        extra.insert(0, _draft(LogOpened(organization=organization, incarnation=1), now))
    for draft in (*extra, *drafts):
        entry, head = place(draft, head, now=now)
        rows.append(_row(log, draft, entry))
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, rows)
        cursor.execute(
            "UPDATE ledger_log SET size = %s, tip = %s, last_at = %s WHERE id = %s",
            [head.size, head.tip, _time(head.last_at), log],
        )
    if sealed:
        store(organization, sealed)
    return head


def database_uuid(value: UUID) -> Any:
    """A UUID as a parameter of a hand-written statement."""
    return value if connection.features.has_native_uuid_field else value.hex


def _locked_head(organization: UUID) -> tuple[Any, Head, datetime]:
    row = _select_head(organization)
    if row is None:
        origin = f"{settings.TIKITAKA_LEDGER_ORIGIN}/org/{organization}/1"
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO ledger_log (id, organization_id, incarnation, origin, size, tip)"
                " VALUES (%s, %s, 1, %s, 0, %s) ON CONFLICT DO NOTHING",
                [database_uuid(new_id()), database_uuid(organization), origin, "0" * 64],
            )
        row = _select_head(organization)
        if row is None:
            raise RuntimeError("the log of this organization is closed")
    log, origin, size, tip, last_at, now = row
    return log, Head(origin=origin, size=size, tip=tip, last_at=_moment(last_at)), _moment(now) or datetime.now(UTC)


def _select_head(organization: UUID) -> tuple[Any, ...] | None:
    clock, lock = (
        ("clock_timestamp()", " FOR UPDATE")
        if connection.vendor == "postgresql"
        else ("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')", "")
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, origin, size, tip, last_at, {clock} FROM ledger_log"  # noqa: S608 both parts are constants
            f" WHERE organization_id = %s AND closed_at IS NULL ORDER BY incarnation DESC LIMIT 1{lock}",
            [database_uuid(organization)],
        )
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def _draft(event: Event, now: datetime) -> Draft:
    return Draft(
        id=new_id(),
        type=event.type,
        occurred_at=now,
        actor=SYSTEM,
        subject=event.subject_json(),
        context=event.context_json(),
        facts=event.facts_json(),
    )


def _row(log: Any, draft: Draft, entry: Entry) -> tuple[Any, ...]:
    return (
        database_uuid(draft.id),
        log,
        entry.seq,
        entry.header.decode(),
        entry.leaf,
        draft.type,
        draft.actor.id,
        draft.subject["kind"],
        draft.subject["id"],
        draft.context.get("team", draft.subject["id"] if draft.subject["kind"] == "team" else ""),
        _time(entry.recorded_at),
    )


def _time(moment: datetime | None) -> Any:
    return connection.ops.adapt_datetimefield_value(moment) if moment else None


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
