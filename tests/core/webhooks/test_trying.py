"""How often a delivery is tried, and for how long a failing endpoint is left alone."""

from __future__ import annotations

import pytest

from tikitaka.policy import DEFAULT
from tikitaka.webhooks.events import TEST
from tikitaka.webhooks.trying import ATTEMPTS_MAX, WAITS_S, fault_of, rest_after, wait_after


def wait(attempts: int, *, event: str = "task.settled", age_s: float = 0) -> int | None:
    return wait_after(event=event, attempts=attempts, age_s=age_s, policy=DEFAULT)


def test_it_waits_longer_and_longer_and_gives_up() -> None:
    waits = [wait(attempts) for attempts in range(1, ATTEMPTS_MAX + 1)]
    assert waits == [5, 30, 120, 600, 3_600, 21_600, 43_200, None]
    assert sum(WAITS_S) < DEFAULT.webhook_life_s


def test_a_test_is_tried_once() -> None:
    assert wait(1, event=TEST) is None


def test_what_has_waited_too_long_is_given_up() -> None:
    assert wait(1, age_s=DEFAULT.webhook_life_s - 1) == 5
    assert wait(1, age_s=DEFAULT.webhook_life_s) is None


def test_an_endpoint_rests_for_ten_minutes_at_most() -> None:
    assert [rest_after(failures) for failures in (1, 2, 3, 4, 5, 8, 1_000)] == [5, 30, 120, 600, 600, 600, 600]


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (200, None), (204, None), (299, None), (300, "redirect"), (301, "redirect"), (308, "redirect"),
        (400, "refused_status"), (410, "refused_status"), (500, "refused_status"), (199, "refused_status"),
    ],
)  # fmt: skip
def test_only_a_2xx_is_a_receipt(status: int, fault: str | None) -> None:
    assert fault_of(status) == fault
