"""Kahn's order of a graph whose nodes are numbered from 1."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def topological_order(depends_on: Sequence[Sequence[int]]) -> list[int] | None:
    """Node numbers so that each stands after its dependencies, ties by number; None when there is a cycle."""
    waiting = {number: len(set(parents)) for number, parents in enumerate(depends_on, start=1)}
    children: dict[int, list[int]] = {number: [] for number in waiting}
    for number, parents in enumerate(depends_on, start=1):
        for parent in set(parents):
            children[parent].append(number)
    ready = [number for number, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for child in children[number]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, child)
    return order if len(order) == len(waiting) else None
