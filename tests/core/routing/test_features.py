"""The numbers between a note and the agents of a team."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.routing.features import FEATURES, bm25, margins, measure
from tikitaka.routing.profiles import DistinctProfile, NoteText
from tikitaka.routing.vectors import cosine_bp, unit

NOTE = NoteText(content="soup", description="salt")
SCORES = st.lists(st.floats(min_value=-1, max_value=1), min_size=2, max_size=8)


def profile(key, *stems):
    return DistinctProfile(key=key, text=key, clauses=(f"{key}: a", f"{key}: b"), stems=stems)


def at(degrees):
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def test_each_number_is_what_its_name_says():
    vectors = {
        NOTE.whole: at(0),
        NOTE.occasion: at(90),
        "cook": at(60),
        "cook: a": at(30),
        "cook: b": at(80),
        "guard": at(120),
        "guard: a": at(90),
        "guard: b": at(100),
    }
    found = measure([profile("cook", "soup"), profile("guard", "gate")], NOTE, vectors)
    cook, guard = (dict(zip(FEATURES, row, strict=True)) for row in found.rows)

    assert cook["own"] == pytest.approx(0.5)
    assert cook["clause"] == pytest.approx(math.cos(math.radians(30)))
    assert cook["centered"] == pytest.approx(1.0)
    assert guard["centered"] == pytest.approx(-1.0)
    assert cook["margin"] == pytest.approx(found.blend[0] - found.blend[1])
    assert guard["margin"] == pytest.approx(-cook["margin"])
    assert cook["share"] + guard["share"] == pytest.approx(1.0)
    assert cook["share"] > 0.99
    assert cook["words"] > 0 == guard["words"]
    assert cook["words_margin"] == pytest.approx(cook["words"])
    assert cook["occasion_margin"] < 0 < guard["occasion_margin"]


def test_a_word_that_fewer_agents_have_weighs_more():
    rare = bm25(["salt"], [["salt"], ["gate"], ["gate"]])[0]
    shared = bm25(["salt"], [["salt"], ["salt"], ["gate"]])[0]

    assert rare > shared > 0


def test_a_long_profile_gains_less_from_one_word():
    short, long = bm25(["salt"], [["salt"], ["salt", *["gate"] * 30]])

    assert short > long


@given(SCORES)
def test_only_the_leader_can_have_a_positive_margin(scores):
    found = margins(np.array(scores))

    assert (found > 0).sum() <= 1
    for index, value in enumerate(scores):
        assert found[index] == pytest.approx(value - max(scores[:index] + scores[index + 1 :]))


def test_a_single_agent_has_no_margin():
    assert margins(np.array([0.7])).tolist() == [0.0]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=5))
def test_a_vector_is_made_of_length_one_or_refused(values):
    found = unit(values)

    usable = bool(values) and all(map(math.isfinite, values)) and any(values)
    assert (found is not None) == usable
    if found is not None:
        assert np.linalg.norm(found) == pytest.approx(1.0)


def test_a_unit_vector_that_others_share_cannot_be_written_to():
    found = unit((3.0, 4.0))

    assert found is unit((3.0, 4.0))
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1.0


def test_cosine_of_different_sizes_is_none():
    assert cosine_bp((1.0,), (1.0, 0.0)) is None
    assert cosine_bp((1.0, 0.0), (1.0, 1.0)) == 7_071
