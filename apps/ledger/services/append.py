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

from apps.ledger.ids import new_id
from apps.ledger.queries import Question
from apps.ledger.sealing import SealedField, store
from apps.ledger.sql import Statements, as_moment, execute_many, together
from tikitaka.ledger.entries import SYSTEM, Draft, Entry, Head, clock_stepped, place
from tikitaka.ledger.events import ClockStepped, Event, LogOpened

Late = tuple[str, Sequence[Sequence[Any]]]

_INSERT = (
    "INSERT INTO ledger_entry (id, log_id, seq, header, leaf, type, actor_id, subject_kind, subject_id, team_id,"
    " recorded_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_MOVE = "UPDATE ledger_log SET size = %s, tip = %s, last_at = %s WHERE id = %s"
_HEAD = {
    vendor: f"SELECT id, origin, size, tip, {times} FROM ledger_log WHERE organization_id = %s AND closed_at IS NULL"  # noqa: S608
    f" ORDER BY incarnation DESC LIMIT 1{lock}"
    for vendor, times, lock in (
        ("postgresql", "last_at, clock_timestamp()", " FOR UPDATE"),
        ("sqlite", "last_at || '+00:00', strftime('%%Y-%%m-%%d %%H:%%M:%%f+00:00', 'now')", ""),
    )
}


def append(
    organization: UUID,
    drafts: Sequence[Draft],
    sealed: Sequence[SealedField],
    *,
    late: Sequence[Late] = (),
    commit: bool = False,
    behind: Sequence[Question[Any]] = (),
) -> Head:
    """Puts `drafts` at the end of the organization's open log; call inside a transaction, as its last act.

    `late` is written before and travels with the question for the head of the log. `commit` ends the transaction in
    the message that holds the entries, and what is asked `behind` it stands there too.
    """
    with Statements() as database:
        log, head, now = _locked_head(database, organization, late)
        back_ms = clock_stepped(head, now)
        extra = [_draft(ClockStepped(organization=organization, back_ms=back_ms), now)] if back_ms else []
        if head.size == 0:
            extra.insert(0, _draft(LogOpened(organization=organization, incarnation=1), now))
        rows: list[tuple[Any, ...]] = []
        for draft in (*extra, *drafts):
            entry, head = place(draft, head, now=now)
            rows.append(_row(log, draft, entry))
        if sealed:
            store(organization, sealed)
        with together():
            database.execute_many(_INSERT, rows)
            database.execute(_MOVE, (head.size, head.tip, head.last_at, log))
            if commit:
                database.execute("COMMIT")
                for question in behind:
                    question.send()
    return head


def write_late(late: Sequence[Late]) -> None:
    """Runs statements whose time has come."""
    for statement, rows in late:
        execute_many(statement, rows)


def _locked_head(database: Statements, organization: UUID, late: Sequence[Late]) -> tuple[Any, Head, datetime]:
    with together():
        write_late(late)
        database.send(_HEAD[database.vendor], (organization,))
    row = next(iter(database.rows()), None)
    if row is None:
        origin = f"{settings.TIKITAKA_LEDGER_ORIGIN}/org/{organization}/1"
        database.execute(
            "INSERT INTO ledger_log (id, organization_id, incarnation, origin, size, tip)"
            " VALUES (%s, %s, 1, %s, 0, %s) ON CONFLICT DO NOTHING",
            (new_id(), organization, origin, "0" * 64),
        )
        row = _select_head(database, organization)
        if row is None:
            raise RuntimeError("the log of this organization is closed")
    log, origin, size, tip, last_at, now = row
    head = Head(origin=origin, size=size, tip=tip, last_at=as_moment(last_at))
    return log, head, as_moment(now) or datetime.now(UTC)


def _select_head(database: Statements, organization: UUID) -> tuple[Any, ...] | None:
    rows = database.fetch(_HEAD[database.vendor], (organization,))
    return rows[0] if rows else None


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
        draft.id,
        log,
        entry.seq,
        entry.header.decode(),
        entry.leaf,
        draft.type,
        draft.actor.id,
        draft.subject["kind"],
        draft.subject["id"],
        draft.context.get("team", draft.subject["id"] if draft.subject["kind"] == "team" else ""),
        entry.recorded_at,
    )
