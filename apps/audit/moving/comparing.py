"""Are both ends the same? Every row of every table, and every log by its chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import zip_longest
from typing import Any
from uuid import UUID

from apps.audit.moving.ends import SOURCE, TARGET, standing_in
from apps.audit.moving.tables import Row, Table
from apps.ledger import selectors
from tikitaka.errors import TikiTakaError
from tikitaka.ledger.chain import Verified

_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


class Differs(TikiTakaError):
    """The two ends are not the same."""

    code = "move_differs"


class BrokenLog(TikiTakaError):
    """A log is not what was written."""

    code = "move_broken_log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """How many rows a table has, and a digest over all of them in order; texts enter with their exact bytes."""

    rows: int
    digest: str


def require_equal(table: Table) -> Fingerprint:
    """The fingerprint that both ends have; raises Differs, which names the table and the first row."""
    source, target = fingerprint(table.rows(SOURCE)), fingerprint(table.rows(TARGET))
    if source != target:
        raise Differs(
            f"{table.name}: source and target differ ({source.rows} and {target.rows} rows),"
            f" first at {_first_difference(table)}"
        )
    return target


def fingerprint(rows: Iterator[Row]) -> Fingerprint:
    digest, count = hashlib.sha256(), 0
    for count, row in enumerate(rows, start=1):  # noqa: B007 the count is the last number
        digest.update(canonical(row) + b"\n")
    return Fingerprint(rows=count, digest=digest.hexdigest())


def canonical(row: Row) -> bytes:
    """One form for a row, whichever database it came from."""
    document = json.dumps([_plain(value) for value in row], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return document.encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    if value.__class__ in _AS_THEY_ARE:
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        # PostgreSQL keeps the numbers of a JSON document as decimals and gives 1e+20 back as a whole number.
        return int(Decimal(repr(value)))
    return value


def _first_difference(table: Table) -> str:
    for source, target in zip_longest(table.rows(SOURCE), table.rows(TARGET)):
        if source is None or target is None or canonical(source) != canonical(target):
            key = table.key_of(source or target)
            return ", ".join(f"{name} {value}" for name, value in zip(table.order, key, strict=True))
    return "a row that has changed since"


def verified_logs() -> dict[str, Verified]:
    """The heads of all logs of the source, each recomputed from its stored bytes."""
    return _verified("source")


def require_equal_logs(source: dict[str, Verified]) -> None:
    """The target's logs verify by themselves and end where those of the source end."""
    with standing_in():
        target = _verified("target")
    if source != target:
        apart = sorted(origin for origin in source | target if source.get(origin) != target.get(origin))
        raise Differs(f"ledger_log: the heads differ: {', '.join(apart)}")


def _verified(end: str) -> dict[str, Verified]:
    heads = {}
    for log in selectors.logs():
        result = selectors.verify_log(log).result
        if not isinstance(result, Verified):
            raise BrokenLog(f"{log.origin} at the {end}: entry {result.seq}, rule {result.rule}: {result.detail}")
        heads[log.origin] = result
    return heads
