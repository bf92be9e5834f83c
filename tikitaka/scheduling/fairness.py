"""Whose turn it is when slots are short: one organization's thousand tasks do not starve another's one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from uuid import UUID


def room_for(organization: UUID, *, free: int, running: Mapping[UUID, int], waiting: Iterable[UUID]) -> int:
    """How many of `free` slots an organization may take now.

    `running` counts the attempts of each organization, `waiting` names one for each team that found no slot. Slots go
    one by one to whoever runs least; at a tie they go to who asks, or two could wait for each other for ever.
    """
    wanted = Counter(other for other in waiting if other != organization)
    counts = Counter(running)
    taken = 0
    for _ in range(free):
        least = min((other for other, left in wanted.items() if left), key=lambda other: counts[other], default=None)
        if least is not None and counts[least] < counts[organization]:
            wanted[least] -= 1
            counts[least] += 1
        else:
            counts[organization] += 1
            taken += 1
    return taken
