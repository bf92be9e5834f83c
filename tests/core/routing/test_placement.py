"""A note joins an own skill that is about the same, or opens one, or collides."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.routing.placement import SkillProfile, place, texts_to_embed
from tikitaka.routing.reasons import WithholdReason

NOTE = "Payouts wait seven days."


def skill(key, ours=True, examples=()):
    return SkillProfile(key=key, name=key, description=f"about {key}", examples=examples, ours=ours)


def at(degrees):
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def placed(own_skills, angles, proposed_key="payouts", threshold_bp=4_500):
    """`angles` by text, in degrees from the note."""
    vectors = {NOTE: at(0), **{text: at(angle) for text, angle in angles.items()}}
    return place(
        note_text=NOTE,
        proposed_key=proposed_key,
        own_skills=own_skills,
        vectors=vectors,
        threshold_bp=threshold_bp,
    )


def test_the_nearest_own_skill_at_the_threshold_is_joined_and_says_who_wrote_it():
    near, nearer = skill("refunds"), skill("money", ours=False)
    found = placed([near, nearer], {near.texts[0]: 60, nearer.texts[0]: 30}, threshold_bp=5_000)

    assert (found.kind, found.skill_key, found.ours, found.reason) == ("existing", "money", False, None)
    assert found.score_bp == 8_660


def test_exactly_the_threshold_joins_and_one_less_does_not():
    own = skill("refunds")

    assert placed([own], {own.texts[0]: 60}, threshold_bp=5_000).kind == "existing"
    assert placed([own], {own.texts[0]: 60}, threshold_bp=5_001).kind == "new"


def test_a_note_that_a_skill_already_holds_speaks_for_it():
    own = skill("refunds", examples=("Payouts take a week.",))

    assert placed([own], {own.texts[0]: 90, "Payouts take a week.": 10}).kind == "existing"


def test_without_a_near_skill_the_proposed_one_is_new():
    own = skill("refunds")
    found = placed([own], {own.texts[0]: 80})

    assert (found.kind, found.skill_key, found.score_bp) == ("new", "payouts", 1_736)
    assert placed([], {}).score_bp is None


def test_a_proposed_key_that_an_unrelated_own_skill_has_collides():
    own = skill("payouts")
    found = placed([own], {own.texts[0]: 80})

    assert (found.kind, found.reason) == ("collision", WithholdReason.SKILL_KEY_COLLISION)


@pytest.mark.parametrize("bad", [(0.0, 0.0), (math.nan, 0.0), ()])
def test_a_skill_without_a_usable_vector_is_never_joined_but_holds_its_key(bad):
    own = skill("payouts")
    vectors = {NOTE: at(0), own.texts[0]: bad}
    found = place(note_text=NOTE, proposed_key="payouts", own_skills=[own], vectors=vectors, threshold_bp=0)

    assert (found.kind, found.score_bp) == ("collision", None)


@given(st.lists(st.floats(min_value=0, max_value=180), max_size=4), st.integers(min_value=0, max_value=10_000))
def test_a_new_skill_never_takes_a_key_that_is_in_use(angles, threshold_bp):
    own = [skill(f"skill-{index}") for index in range(len(angles))]
    found = placed(
        own,
        {item.texts[0]: angle for item, angle in zip(own, angles, strict=True)},
        proposed_key="skill-0",
        threshold_bp=threshold_bp,
    )

    assert (found.skill_key in {item.key for item in own}) == (found.kind != "new")


def test_one_batch_holds_every_text():
    own = skill("refunds", examples=("a", NOTE))

    assert texts_to_embed(NOTE, [own]) == (NOTE, "refunds: about refunds", "a")
