"""The fit recovers what made the data, and says so when it cannot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.evaluation.fitting import NotFittedError, fit_logistic, rounded, smoothed_best

# One column; the share of ones at -1 is 1/4 and at +1 is 3/4, so the free fit is log(3) with no bias.
ROWS = np.array([[-1.0]] * 4 + [[1.0]] * 4)
LABELS = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])


def test_without_penalty_it_finds_the_log_odds():
    found = fit_logistic(ROWS, LABELS, penalty=1e-9)

    assert found.weights[0] == pytest.approx(np.log(3), abs=1e-6)
    assert found.bias == pytest.approx(0, abs=1e-6)


def test_a_penalty_shrinks_the_weight_and_not_the_bias():
    shifted = np.array([1.0, 0, 0, 0, 1, 1, 1, 1])
    strong = fit_logistic(ROWS, shifted, penalty=1e6)

    assert strong.weights[0] == pytest.approx(0, abs=1e-4)
    assert strong.bias == pytest.approx(np.log(5 / 3), abs=1e-3)


def test_weights_are_in_the_units_of_the_columns():
    one = fit_logistic(ROWS, LABELS, penalty=1.0)
    ten = fit_logistic(ROWS * 10 + 7, LABELS, penalty=1.0)

    assert ten.weights[0] * 10 == pytest.approx(one.weights[0])
    assert ten.weights[0] * 17 + ten.bias == pytest.approx(one.weights[0] + one.bias)


def test_an_unscaled_column_pays_the_penalty_in_its_own_units():
    small = ROWS / 10

    scaled = fit_logistic(small, LABELS, penalty=1.0).weights[0]
    unscaled = fit_logistic(small, LABELS, penalty=1.0, unscaled=1).weights[0]

    assert 0 < unscaled < scaled


def test_a_constant_column_takes_no_part():
    rows = np.column_stack([ROWS, np.full(8, 3.0)])

    assert fit_logistic(rows, LABELS, penalty=1.0).weights[1] == 0


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_outcome_alone_is_refused(label):
    with pytest.raises(NotFittedError):
        fit_logistic(ROWS, np.full(8, label), penalty=1.0)


def test_a_lone_peak_loses_to_a_plateau():
    scores = {0: 0.0, 1: 0.9, 2: 0.0, 3: 0.0, 4: 0.5, 5: 0.6, 6: 0.6, 7: 0.6, 8: 0.5, 9: 0.0}

    assert smoothed_best(range(10), scores.__getitem__) == 6


def test_of_equals_the_first_is_taken():
    assert smoothed_best(range(5), lambda _: 0.5) == 0


@given(st.floats(min_value=-1e6, max_value=1e6))
def test_six_digits_are_kept(value):
    assert rounded(rounded(value)) == rounded(value)
    assert rounded(value) == pytest.approx(value, rel=1e-5)
