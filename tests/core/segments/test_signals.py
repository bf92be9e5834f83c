"""What closes a segment for its topic, and what never does."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.policy import DEFAULT
from tikitaka.routing.calibration import LogisticModel
from tikitaka.segments.signals import (
    FEATURES,
    TopicModel,
    drift,
    fitted,
    jsd,
    load_topic_model,
    may_close,
    read,
    topic_row,
)

OLD = ("Fix the kitchen sink drain", "Order a longer kitchen hose")
NEW = "Write the investor report draft"


def at(degrees):
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def vectors(new_angle, *old_angles, prompts=OLD, new=NEW):
    return {new: at(new_angle), **dict(zip(prompts, map(at, old_angles), strict=True))}


ALWAYS = TopicModel(model=LogisticModel(weights=dict.fromkeys(FEATURES, 0.0), bias=30.0), threshold_bp=5_000)


def test_drift_is_the_distance_to_the_mean_of_the_last_three():
    prompts = ("far away topic words", *OLD, "Third kitchen prompt here")
    found = drift(prompts, NEW, vectors=vectors(60, 90, 0, 0, 0, prompts=prompts), threshold_bp=5_000)

    assert (found.name, found.value_bp, found.threshold_bp, found.closes) == ("drift", 5_000, 5_000, True)


def test_drift_below_its_threshold_stays_open():
    found = drift(OLD, NEW, vectors=vectors(59, 0, 0), threshold_bp=5_000)

    assert found.value_bp < 5_000
    assert not found.closes


def test_each_feature_is_what_its_name_says():
    row = dict(zip(FEATURES, topic_row(OLD, NEW, vectors(90, 0, 60)), strict=True))

    assert row["mean_drift"] == pytest.approx(0.5)
    assert row["nearest_drift"] == pytest.approx(1 - math.cos(math.radians(30)))
    assert row["recent_drift"] == pytest.approx(0.5)
    assert row["length"] == pytest.approx(math.log(6))
    assert row["opening"] == 1.0


def test_the_fitted_signal_closes_on_a_far_prompt_and_not_on_a_near_one():
    far = fitted(OLD, NEW, vectors=vectors(95, 0, 10), topic=load_topic_model())
    near = fitted(OLD, NEW, vectors=vectors(15, 0, 10), topic=load_topic_model())

    assert far.closes
    assert not near.closes
    assert near.value_bp < near.threshold_bp <= far.value_bp


@pytest.mark.parametrize(
    "prompt",
    [
        "ok",
        "continue with the next one",
        "Now do the same for the other one",
        "thanks, continue",
        "Two words",
        "continue with the database migration tests",
        "继续",
        "weiter",
        "",
    ],
)
def test_a_prompt_without_a_topic_never_closes(prompt):
    known = vectors(180, 0, 0, new=prompt)

    assert not may_close(OLD, prompt)
    assert not fitted(OLD, prompt, vectors=known, topic=ALWAYS).closes
    assert not drift(OLD, prompt, vectors=known, threshold_bp=0).closes


def test_a_segment_of_one_prompt_never_closes():
    known = vectors(180, 0, 0)

    assert not fitted(OLD[:1], NEW, vectors=known, topic=ALWAYS).closes
    assert not drift(OLD[:1], NEW, vectors=known, threshold_bp=0).closes
    assert fitted(OLD, NEW, vectors=known, topic=ALWAYS).closes


@pytest.mark.parametrize("bad", [(), (0.0, 0.0), (math.nan, 1.0), (1.0, 0.0, 0.0)])
def test_an_unusable_vector_never_closes(bad):
    known = vectors(180, 0, 0) | {OLD[0]: bad}

    assert topic_row(OLD, NEW, known) is None
    assert not fitted(OLD, NEW, vectors=known, topic=load_topic_model()).closes
    assert drift(OLD, NEW, vectors=known, threshold_bp=1).value_bp == 0


def test_the_age_of_a_segment_does_not_count():
    prompts = [f"kitchen prompt number {index}" for index in range(6)]
    known = {NEW: at(80), **dict.fromkeys(prompts, at(0))}
    readings = {fitted(prompts[:count], NEW, vectors=known, topic=load_topic_model()).value_bp for count in range(1, 7)}

    assert len(readings) == 1


def test_jsd_is_one_between_strangers_and_zero_between_equals():
    strangers = jsd(OLD, NEW, threshold_bp=9_000, terms_min=8)
    equals = jsd(OLD, " ".join(OLD), threshold_bp=9_000, terms_min=2)

    assert (strangers.value_bp, strangers.closes) == (10_000, True)
    assert (equals.value_bp, equals.closes) == (0, False)


def test_jsd_of_half_shared_words_is_known():
    found = jsd(["red"], "red blue", threshold_bp=3_000, terms_min=2)

    assert found.value_bp == 3_113
    assert found.closes
    assert not jsd(["red"], "red blue", threshold_bp=3_113, terms_min=2).closes


def test_jsd_says_nothing_of_few_terms():
    assert jsd(["red"], "blue", threshold_bp=9_000, terms_min=8).value_bp == 0


@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=40))
def test_jsd_of_any_text_is_a_share(prompts, new):
    assert 0 <= jsd(prompts, new, threshold_bp=9_000, terms_min=2).value_bp <= 10_000


@pytest.mark.parametrize("name", ["fitted", "drift", "jsd"])
def test_the_policy_chooses_the_signal(name):
    policy = dataclasses.replace(DEFAULT, segment_signal=name, segment_drift_bp=111, segment_jsd_bp=222)
    found = read(OLD, NEW, vectors=vectors(60, 0, 0), policy=policy)

    expected = {"fitted": load_topic_model().threshold_bp, "drift": 111, "jsd": 222}
    assert (found.name, found.threshold_bp) == (name, expected[name])
