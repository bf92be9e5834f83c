"""Verification of a log from its stored bytes alone; the first fault is named."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tikitaka.ledger.canonical import NotCanonical, canonical_header
from tikitaka.ledger.entries import GENESIS_PREV, HEADER_VERSION, leaf_of

Rule = Literal[
    "unreadable",
    "not_canonical",
    "version",
    "origin",
    "numbering",
    "link",
    "leaf",
    "clock",
    "column",
    "head",
    "type",
    "seal",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """One row as it lies in the database or an export: the header's bytes, the leaf, and copies of header fields."""

    header: bytes
    leaf: str
    copies: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The chain holds: how many entries, the last leaf, the last recorded time."""

    size: int
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The first fault: at which entry, by which rule, in words."""

    seq: int
    rule: Rule
    detail: str


def verify(
    entries: Iterable[StoredEntry], *, origin: str, known_types: frozenset[str], size: int | None, tip: str | None
) -> Verified | Broken:
    """Checks form, numbering, links, leaves, clock and the copies beside the header; then the head, when it is known.

    A chain alone cannot show a cut tail, therefore `size` and `tip` come from the log's own row or a checkpoint.
    """
    prev, last_at, count = GENESIS_PREV, "", 0
    for count, stored in enumerate(entries, start=1):
        fault = _check_one(stored, seq=count - 1, prev=prev, last_at=last_at, origin=origin, known_types=known_types)
        if isinstance(fault, Broken):
            return fault
        prev, last_at = stored.leaf, fault["recorded_at"]
    if size is not None and size != count:
        return Broken(seq=min(size, count), rule="head", detail=f"the head says {size} entries, {count} are there")
    if tip is not None and tip != prev:
        return Broken(seq=max(count - 1, 0), rule="head", detail="the head's tip is not the last leaf")
    return Verified(size=count, tip=prev)


def _check_one(
    stored: StoredEntry, *, seq: int, prev: str, last_at: str, origin: str, known_types: frozenset[str]
) -> dict[str, Any] | Broken:
    def broken(rule: Rule, detail: str) -> Broken:
        return Broken(seq=seq, rule=rule, detail=detail)

    if leaf_of(stored.header) != stored.leaf:
        return broken("leaf", "the leaf is not the hash of the header")
    try:
        header = json.loads(stored.header)
    except ValueError:
        return broken("unreadable", "the header is not JSON")
    if not isinstance(header, dict):
        return broken("unreadable", "the header is not an object")
    try:
        same = canonical_header(header) == stored.header
    except NotCanonical as error:
        return broken("not_canonical", error.detail)
    if not same:
        return broken("not_canonical", "the header is not in canonical form")
    if header.get("v") != HEADER_VERSION:
        return broken("version", "unknown header version")
    if header.get("origin") != origin:
        return broken("origin", "the entry belongs to another log")
    if header.get("seq") != seq:
        return broken("numbering", f"expected number {seq}")
    if header.get("prev") != prev:
        return broken("link", "does not point at the entry before it")
    if header.get("type") not in known_types:
        return broken("type", "unknown type of entry")
    if not isinstance(header.get("recorded_at"), str):
        return broken("unreadable", "the header does not say when")
    if header["recorded_at"] < last_at:
        return broken("clock", "recorded before the entry before it")
    for name, copy in stored.copies.items():
        if _lookup(header, name) != copy:
            return broken("column", f"the column {name} differs from the header")
    return header


def _lookup(header: dict[str, Any], dotted: str) -> Any:
    value: Any = header
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
