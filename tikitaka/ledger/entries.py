"""One ledger entry: header, the leaf that is chain link and Merkle leaf at once, commitments of sealed values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tikitaka.ledger.canonical import canonical_bytes, canonical_header

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
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def leaf_of(header: bytes) -> str:
    """SHA-256(0x00 followed by the header bytes), RFC 6962's leaf hash, in hex."""
    return hashlib.sha256(b"\x00" + header).hexdigest()


def place(draft: Draft, head: Head, *, now: datetime) -> tuple[Entry, Head]:
    """Puts `draft` at the end of the log: the entry and the new head. Recorded time never runs backwards."""
    recorded_at = max(now, head.last_at) if head.last_at else now
    header: dict[str, Any] = {
        "v": HEADER_VERSION,
        "origin": head.origin,
        "seq": head.size,
        "prev": head.tip,
        "id": str(draft.id),
        "type": draft.type,
        "recorded_at": timestamp(recorded_at),
        "occurred_at": timestamp(draft.occurred_at),
        "actor": draft.actor.as_json(),
        "subject": draft.subject,
        "context": draft.context,
        "facts": draft.facts,
        "sealed": draft.commitments,
    }
    if draft.supersedes is not None:
        header["supersedes"] = str(draft.supersedes)
    data = canonical_header(header)
    entry = Entry(seq=head.size, header=data, leaf=leaf_of(data), recorded_at=recorded_at)
    return entry, Head(origin=head.origin, size=head.size + 1, tip=entry.leaf, last_at=recorded_at)


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
