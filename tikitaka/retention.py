"""How long the words of finished work are kept, and what stands where they were."""

from __future__ import annotations

from datetime import datetime, timedelta

from tikitaka.policy import Policy


def settled_until(now: datetime, policy: Policy) -> datetime | None:
    """Work that ended then or earlier has been kept long enough; None when everything is kept for ever."""
    return now - timedelta(seconds=policy.retention_s) if policy.retention_s else None


def removed_after(settled_at: datetime, pruned_at: datetime) -> str:
    """What a page says in the place of words that were removed."""
    days = (pruned_at - settled_at).days
    return f"Removed after {days} day{'' if days == 1 else 's'}." if days else "Removed within a day."
