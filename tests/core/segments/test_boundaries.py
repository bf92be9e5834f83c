"""A task joins the open segment, or closes it: caps and idle time before the topic."""

from datetime import UTC, datetime, timedelta

import pytest

from tikitaka.policy import DEFAULT
from tikitaka.segments.boundaries import IncomingTask, OpenSegment, assign, is_idle, node_drift
from tikitaka.segments.signals import SignalReading

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SHIFT = SignalReading(name="fitted", value_bp=9_000, threshold_bp=4_000, closes=True)
SAME = SignalReading(name="fitted", value_bp=100, threshold_bp=4_000, closes=False)


def segment(**changes):
    known = {"task_count": 2, "chars": 100, "last_activity_at": NOON, "prompts": ("a", "b")}
    return OpenSegment(**known | changes)


def task(chars=50, after_s=60):
    return IncomingTask(prompt_chars=chars, submitted_at=NOON + timedelta(seconds=after_s))


def decide(open_segment, incoming=None, reading=SAME):
    found = assign(open_segment, incoming or task(), policy=DEFAULT, reading=reading)
    return found.opens_new, found.close_reason


def test_without_an_open_segment_one_opens_and_none_closes():
    assert decide(None, reading=SHIFT) == (True, None)


def test_the_open_segment_takes_what_goes_on():
    assert decide(segment()) == (False, None)
    assert decide(segment(), reading=None) == (False, None)


def test_a_shift_closes_and_its_reading_is_kept():
    found = assign(segment(), task(), policy=DEFAULT, reading=SHIFT)

    assert (found.opens_new, found.close_reason, found.reading) == (True, "topic_shift", SHIFT)


@pytest.mark.parametrize(("count", "reason"), [(7, None), (8, "size_cap"), (9, "size_cap")])
def test_a_segment_holds_eight_tasks(count, reason):
    assert decide(segment(task_count=count)) == (reason is not None, reason)


@pytest.mark.parametrize(("chars", "reason"), [(119_950, None), (119_951, "size_cap")])
def test_a_segment_never_grows_past_its_characters(chars, reason):
    assert decide(segment(chars=chars), task(chars=50)) == (reason is not None, reason)


@pytest.mark.parametrize(("after_s", "reason"), [(1_799, None), (1_800, "idle")])
def test_a_segment_is_idle_after_half_an_hour(after_s, reason):
    assert decide(segment(), task(after_s=after_s)) == (reason is not None, reason)
    assert is_idle(NOON, NOON + timedelta(seconds=after_s), DEFAULT) == (reason == "idle")


def test_the_cap_is_named_before_idle_and_idle_before_the_topic():
    late = task(after_s=9_999)

    assert decide(segment(task_count=8), late, SHIFT) == (True, "size_cap")
    assert decide(segment(), late, SHIFT) == (True, "idle")


def test_the_first_node_has_no_drift():
    assert node_drift([], (1.0, 0.0)) is None


def test_node_drift_is_the_distance_to_the_mean_of_the_buffered():
    assert node_drift([(1.0, 0.0), (0.0, 1.0)], (1.0, 1.0)) == 0
    assert node_drift([(1.0, 0.0), (1.0, 0.0)], (0.0, 2.0)) == 10_000
    assert node_drift([(1.0, 0.0), (-1.0, 0.0)], (0.0, 1.0)) == 10_000


@pytest.mark.parametrize("bad", [(), (0.0, 0.0), (float("nan"), 0.0), (1.0, 0.0, 0.0)])
def test_what_cannot_be_measured_never_cuts(bad):
    assert node_drift([(1.0, 0.0), bad], (0.0, 1.0)) is None
    assert node_drift([(1.0, 0.0)], bad) is None
