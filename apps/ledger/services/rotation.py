"""Another sealing key: the subjects' own keys are wrapped anew, what they sealed stays as it is."""

from __future__ import annotations

from collections import Counter

from cryptography.exceptions import InvalidTag

from apps.ledger.models import SubjectKey
from apps.ledger.sealing import rewrapped
from apps.ledger.writing import writing

_ROWS_AT_ONCE = 500


def rotate_sealing_key(*, old: str) -> Counter[str]:
    """Wraps every subject's key under the configured master key instead of `old`; how many of which kind it met.

    Each batch is a transaction. What is wrapped anew already is left, so it may be killed and called again; what
    neither key opens is left as well.
    """
    met: Counter[str] = Counter()
    last = None
    while True:
        with writing():
            rows = SubjectKey.objects.order_by("pk").select_for_update()
            batch = list((rows if last is None else rows.filter(pk__gt=last))[:_ROWS_AT_ONCE])
            if not batch:
                return met
            changed = [row for row in batch if _wrap_anew(row, old, met)]
            SubjectKey.objects.bulk_update(changed, ["wrapped"])
        last = batch[-1].pk


def _wrap_anew(row: SubjectKey, old: str, met: Counter[str]) -> bool:
    """True when the row must be saved."""
    if row.wrapped is None:
        met["destroyed"] += 1
        return False
    try:
        wrapped = rewrapped(row, old=old)
    except InvalidTag:
        met["unreadable"] += 1
        return False
    met["already" if wrapped is None else "rewrapped"] += 1
    row.wrapped = wrapped or row.wrapped
    return wrapped is not None
