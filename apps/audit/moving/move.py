"""The whole move, in order: check, copy, compare. Killed at any moment and called again, it ends the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.contenttypes.models import ContentType

from apps.audit.moving import comparing, copying, ends
from apps.audit.moving.tables import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What both ends were found to hold alike."""

    tables: int
    rows: int
    logs: int
    entries: int
    seconds: float


def move(database: dict[str, Any], *, progress: Callable[[str], None]) -> Moved:
    """Brings every row of the configured SQLite installation to `database`; the source is only read.

    The caller sees to it that the installation is not served meanwhile; other writers wait at SQLite's lock.
    """
    began = time.monotonic()
    ends.require_embedded()
    all_tables = tables()
    with ends.held_still(), ends.connected(database):
        ends.require_movable()
        heads = comparing.verified_logs()
        ends.require_own(all_tables)
        progress("The installation is at rest, its ledger verifies, the target is free for it.")
        ends.migrate()
        copying.adopt(all_tables)
        for table in all_tables:
            progress(f"{table.name}: {copying.copy(table)} rows copied")
        copying.reset_sequences(all_tables)
        rows = sum(comparing.require_equal(table).rows for table in all_tables)
        comparing.require_equal_logs(heads)
        ContentType.objects.clear_cache()
    return Moved(
        tables=len(all_tables),
        rows=rows,
        logs=len(heads),
        entries=sum(head.size for head in heads.values()),
        seconds=round(time.monotonic() - began, 2),
    )
