"""Slots go to whoever runs least, none is left over, and nobody waits for somebody who waits for them."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.scheduling.fairness import room_for

A, B, C = (UUID(int=number) for number in (1, 2, 3))
ORGANIZATIONS = st.sampled_from([A, B, C])


@pytest.mark.parametrize(
    ("free", "running", "waiting", "room"),
    [
        (3, {}, [], 3),
        (1, {A: 7}, [B], 0),
        (2, {A: 6}, [B], 1),
        (1, {A: 3, B: 4}, [B], 1),
        (1, {A: 4, B: 4}, [B], 1),
        (2, {A: 4, B: 0, C: 1}, [B, B, C], 0),
        (1, {A: 4}, [A, A], 1),
        (0, {A: 1}, [], 0),
    ],
)
def test_who_runs_most_leaves_room(free: int, running: dict[UUID, int], waiting: list[UUID], room: int) -> None:
    assert room_for(A, free=free, running=running, waiting=waiting) == room


@given(
    free=st.integers(0, 8), running=st.dictionaries(ORGANIZATIONS, st.integers(0, 8)), waiting=st.lists(ORGANIZATIONS)
)
def test_when_slots_are_free_somebody_who_waits_may_take_one(
    free: int, running: dict[UUID, int], waiting: list[UUID]
) -> None:
    for asking in waiting:
        others = list(waiting)
        others.remove(asking)
        assert 0 <= room_for(asking, free=free, running=running, waiting=others) <= free
    if free and waiting:
        least = min(waiting, key=lambda organization: running.get(organization, 0))
        assert room_for(least, free=free, running=running, waiting=waiting) > 0
