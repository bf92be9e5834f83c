"""When words have been kept long enough, and what is said in their place."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from tikitaka.errors import Invalid
from tikitaka.policy import DEFAULT, from_environment
from tikitaka.retention import removed_after, settled_until

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_by_default_everything_is_kept_for_ever() -> None:
    assert settled_until(NOW, DEFAULT) is None


def test_the_age_is_the_policys() -> None:
    policy = dataclasses.replace(DEFAULT, retention_s=86_400)
    assert settled_until(NOW, policy) == NOW - timedelta(days=1)


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(hours=23, minutes=59), "Removed within a day."),
        (timedelta(days=1), "Removed after 1 day."),
        (timedelta(days=30, hours=23), "Removed after 30 days."),
    ],
)
def test_what_stands_in_the_place_of_the_words(age: timedelta, words: str) -> None:
    assert removed_after(NOW - age, NOW) == words


def test_ten_years_at_most() -> None:
    name = "TIKITAKA_POLICY_RETENTION_S"
    assert from_environment({name: "315360000"}).retention_s == 3_650 * 86_400
    with pytest.raises(Invalid, match=name):
        from_environment({name: "315360001"})
