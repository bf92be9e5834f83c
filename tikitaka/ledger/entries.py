"""One ledger entry: header, the leaf that is chain link and Merkle leaf at once, commitments of sealed values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from tikitaka.ledger.canonical import canonical_bytes, canonical_text, header_bytes

GENESIS_PREV = "0" * 64
HEADER_VERSION = 1
CLOCK_STEP = timedelta(seconds=2)
_SEALED_DOMAIN = b"tikitaka/sealed/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acted. `id` is a pseudonym or a fixed name, never a person's name."""

    kind: str
    id: str
    auth: dict[str, Any] | None = None
    on_behalf_of: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"kind": self.kind, "id": self.id}
        if self.auth:
            value["auth"] = self.auth
        if self.on_behalf_of:
            value["on_behalf_of"] = self.on_behalf_of
        return value


SYSTEM = Actor(kind="system", id="tikitaka")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An entry before it has a place in the log."""

    id: UUID
    type: str
    occurred_at: datetime
    actor: Actor
    subject: dict[str, str]
    context: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    commitments: dict[str, str] = field(default_factory=dict)
    supersedes: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a log: how many entries, the last leaf in hex, the time of the last entry."""

    origin: str
    size: int
    tip: str
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A placed entry: exactly the bytes that were hashed, and the hash."""

    seq: int
    header: bytes
    leaf: str
    recorded_at: datetime


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with six decimals and Z."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat("T", "microseconds")[:26] + "Z"


def leaf_of(header: bytes) -> str:
    """SHA-256(0x00 followed by the header bytes), RFC 6962's leaf hash, in hex."""
    return hashlib.sha256(b"\x00" + header).hexdigest()


def place(draft: Draft, head: Head, *, now: datetime) -> tuple[Entry, Head]:
    """Puts `draft` at the end of the log: the entry and the new head. Recorded time never runs backwards."""
    recorded_at = max(now, head.last_at) if head.last_at else now
    data = header_bytes(_header_text(draft, head, recorded_at))
    entry = Entry(seq=head.size, header=data, leaf=leaf_of(data), recorded_at=recorded_at)
    return entry, Head(origin=head.origin, size=head.size + 1, tip=entry.leaf, last_at=recorded_at)


def _header_text(draft: Draft, head: Head, recorded_at: datetime) -> str:
    """The header in canonical form: its own keys stand here in their order, since every transition passes here."""
    supersedes = "" if draft.supersedes is None else f',"supersedes":"{draft.supersedes}"'
    return (
        f'{{"actor":{_actor_text(draft.actor)}'
        f',"context":{canonical_text(draft.context, "header.context")}'
        f',"facts":{canonical_text(draft.facts, "header.facts")}'
        f',"id":"{draft.id}"'
        f',"occurred_at":"{timestamp(draft.occurred_at)}"'
        f',"origin":{_name_text(head.origin, "header.origin")}'
        f',"prev":{canonical_text(head.tip, "header.prev")}'
        f',"recorded_at":"{timestamp(recorded_at)}"'
        f',"sealed":{canonical_text(draft.commitments, "header.sealed") if draft.commitments else "{}"}'
        f',"seq":{head.size}'
        f',"subject":{canonical_text(draft.subject, "header.subject")}'
        f'{supersedes},"type":{_name_text(draft.type, "header.type")},"v":{HEADER_VERSION}}}'
    )


def _actor_text(actor: Actor) -> str:
    if actor.auth or actor.on_behalf_of:
        return canonical_text(actor.as_json(), "header.actor")
    return _bare_actor_text(actor.kind, actor.id)


@lru_cache(maxsize=256)
def _name_text(name: str, where: str) -> str:
    """The same few logs and types come again and again."""
    return canonical_text(name, where)


@lru_cache(maxsize=256)
def _bare_actor_text(kind: str, identity: str) -> str:
    """Few actors write most entries."""
    return canonical_text({"kind": kind, "id": identity}, "header.actor")


def clock_stepped(head: Head, now: datetime) -> int:
    """Milliseconds by which the clock went back behind the last entry, when more than two seconds; else 0."""
    if head.last_at is None or head.last_at - now <= CLOCK_STEP:
        return 0
    return int((head.last_at - now) / timedelta(milliseconds=1))


def commitment(name: str, salt: bytes, value: Any) -> str:
    """What the header shows of a sealed value: a salted SHA-256, so that short personal text cannot be guessed."""
    digest = hashlib.sha256(_SEALED_DOMAIN + b"\x00" + name.encode() + b"\x00" + salt)
    digest.update(canonical_bytes(value))
    return digest.hexdigest()
