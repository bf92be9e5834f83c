"""The measures, each against a value worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.evaluation.metrics import (
    area_under_curve,
    near_hits,
    precision_recall_f1,
    share,
    window_errors,
)

POSITIONS = st.sets(st.integers(min_value=1, max_value=9))


def test_precision_recall_and_f1_of_two_hits():
    assert precision_recall_f1(2, 4, 8) == {"precision": 0.5, "recall": 0.25, "f1": 0.3333}
    assert precision_recall_f1(0, 0, 0) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_a_share_of_nothing_is_nothing():
    assert share(1, 0) == 0.0


@pytest.mark.parametrize(
    ("scores", "labels", "area"),
    [
        ([1, 2, 3, 4], [False, False, True, True], 1.0),
        ([1, 2, 3, 4], [True, True, False, False], 0.0),
        ([1, 1, 1, 1], [True, False, True, False], 0.5),
        ([1, 2, 3], [False, True, False], 0.5),
        ([1, 2], [True, True], 0.0),
    ],
)
def test_the_area_counts_pairs_in_the_right_order(scores, labels, area):
    assert area_under_curve(scores, labels) == area


@pytest.mark.parametrize(
    ("found", "wanted", "hits"),
    [
        ({3}, {3}, 1),
        ({2}, {3}, 1),
        ({1}, {3}, 0),
        ({2, 4}, {3}, 1),
        ({3}, {2, 4}, 1),
        ({2, 3}, {3, 4}, 2),
        (set(), {1}, 0),
    ],
)
def test_near_hits_are_matched_one_to_one(found, wanted, hits):
    assert near_hits(found, wanted, tolerance=1) == hits


@given(POSITIONS, POSITIONS)
def test_near_hits_do_not_depend_on_who_is_found_and_who_wanted(found, wanted):
    hits = near_hits(found, wanted, tolerance=1)

    assert hits == near_hits(wanted, found, tolerance=1)
    assert len(found & wanted) <= hits <= min(len(found), len(wanted))


def test_window_errors_by_hand():
    # ten prompts, true shift at 5: window round(10 / 2 / 2) = 2, eight windows.
    assert window_errors(10, {5}, {5}) == (0, 0, 8)
    assert window_errors(10, set(), {5}) == (2, 2, 8)
    assert window_errors(10, {6}, {5}) == (2, 2, 8)
    assert window_errors(10, {4, 5}, {5}) == (1, 2, 8)


@given(st.integers(min_value=1, max_value=10), POSITIONS, POSITIONS)
def test_window_diff_is_never_kinder_than_pk(length, found, wanted):
    parted, differing, windows = window_errors(length, found, wanted)

    assert 0 <= parted <= differing <= windows
    assert window_errors(length, wanted, wanted)[:2] == (0, 0)
