"""One thing that is not as it should be, and the words in which amounts and times are said."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """`what` is stuck, `why`, and what to `do`; what passes by itself needs no person."""

    what: str
    why: str
    do: str
    needs_person: bool = True


def some(count: int, one: str, many: str = "") -> str:
    """An amount with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def lasting(seconds: float) -> str:
    """A span of time in its largest fitting unit."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return some(int(seconds // size), unit)
    return some(int(seconds), "second")
