"""Every agent gets exactly one verdict; errors withhold; at most one fallback."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tikitaka.routing.calibration import Calibration, cosine_calibration, load_calibration
from tikitaka.routing.eligibility import Eligibility, Span
from tikitaka.routing.features import FEATURES
from tikitaka.routing.profiles import AgentProfile, NoteText, distinct_profiles, texts_to_embed
from tikitaka.routing.reasons import WithholdReason
from tikitaka.routing.recognition import recognize

KEYS = ("cook", "guard", "clerk")
TEAM = tuple(
    AgentProfile(key=key, name=f"{key.title()} Agent", description=f"{key} work.", instructions="") for key in KEYS
)
NOTE = NoteText(content="Salt the soup.", description="Making soup")
NOBODY = Eligibility(excluded={}, has_audience_words=False)


def excluding(*keys):
    span = Span(start=0, end=4, text="only")
    return Eligibility(excluded=dict.fromkeys(keys, span), has_audience_words=True)


def calibration(threshold_bp=5_000, floor_bp=0, **weights):
    coefficients = {**dict.fromkeys(FEATURES, 0.0), "bias": 0.0, **weights}
    return Calibration(
        version="t",
        score="logistic",
        coefficients=coefficients,
        threshold_bp=threshold_bp,
        floor_bp=floor_bp,
        model_digest="",
    )


def vectors_for(angles, note_angle=0.0, score="logistic"):
    """Unit vectors in the plane: each agent's texts at its angle (degrees), the note at its own."""

    def at(angle):
        return (math.cos(math.radians(angle)), math.sin(math.radians(angle)))

    found = {text: at(note_angle) for text in texts_to_embed(TEAM, NOTE, score=score)}
    for agent, profile, angle in zip(TEAM, distinct_profiles(TEAM), angles, strict=True):
        for text in (profile.text, *profile.clauses, agent.whole):
            found[text] = at(angle)
    return found


def decide(angles=(10, 60, 80), candidates=KEYS, eligibility=NOBODY, **changes):
    vectors = vectors_for(angles) | changes.pop("vectors", {})
    in_force = changes.pop("calibration", calibration(own=10.0, bias=-7.0))
    found = recognize(NOTE, TEAM, candidates, vectors=vectors, calibration=in_force, eligibility=eligibility)
    return {item.key: item for item in found.verdicts}, found


def test_at_or_above_the_threshold_is_granted_and_below_is_withheld_with_score_and_threshold():
    by_key, found = decide()

    assert found.granted == ("cook",)
    assert by_key["cook"].match_kind == "threshold"
    assert by_key["guard"].reason is WithholdReason.BELOW_THRESHOLD
    assert by_key["guard"].score_bp < by_key["guard"].threshold_bp == 5_000
    assert found.fallback is None


def test_exactly_the_threshold_matches():
    by_key, _ = decide(calibration=calibration(threshold_bp=5_000))

    assert {item.score_bp for item in by_key.values()} == {5_000}
    assert all(item.match_kind == "threshold" for item in by_key.values())


def test_when_nobody_matches_the_best_candidate_is_the_one_fallback():
    by_key, found = decide(angles=(70, 60, 80))

    assert found.fallback == "guard"
    assert found.granted == ("guard",)
    assert by_key["guard"].match_kind == "fallback"


def test_a_tie_for_the_fallback_goes_to_the_first_of_the_roster():
    _, found = decide(angles=(80, 80, 80))

    assert found.fallback == "cook"


def test_who_took_no_part_is_not_scored_and_never_granted():
    by_key, found = decide(candidates=("guard", "clerk"))

    assert by_key["cook"].reason is WithholdReason.NOT_PARTICIPANT
    assert by_key["cook"].score_bp is None
    assert by_key["cook"].threshold_bp is None
    assert found.fallback == "guard"


def test_the_excluded_keeps_its_score_but_is_neither_granted_nor_fallback():
    by_key, found = decide(eligibility=excluding("cook"))

    assert by_key["cook"].reason is WithholdReason.AUDIENCE_EXCLUDED
    assert by_key["cook"].score_bp >= 5_000
    assert by_key["cook"].verdict == "withheld"
    assert found.fallback == "guard"


def test_when_all_are_excluded_there_is_no_fallback():
    _, found = decide(eligibility=excluding(*KEYS))

    assert found.fallback is None
    assert found.granted == ()


@pytest.mark.parametrize("bad", [None, (), (0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0), (1.0, 0.0, 0.0)])
def test_an_agent_that_cannot_be_scored_is_withheld_and_the_others_go_on(bad):
    by_key, found = decide(vectors={distinct_profiles(TEAM)[1].text: bad})

    assert by_key["guard"].reason is WithholdReason.RECOGNIZER_ERROR
    assert by_key["guard"].score_bp is None
    assert by_key["guard"].threshold_bp == 5_000
    assert found.granted == ("cook",)


@pytest.mark.parametrize("bad", [None, (0.0, 0.0), (math.nan, 1.0)])
def test_a_note_that_cannot_be_read_is_withheld_from_all(bad):
    by_key, found = decide(vectors={NOTE.whole: bad})

    assert {item.reason for item in by_key.values()} == {WithholdReason.RECOGNIZER_ERROR}
    assert found.fallback is None


def test_below_the_floor_without_a_common_word_no_score_matches():
    far = {"angles": (80, 85, 88)}
    by_key, found = decide(**far, calibration=calibration(threshold_bp=1_000, floor_bp=2_000))

    assert found.fallback == "cook"
    assert by_key["guard"].score_bp >= by_key["guard"].threshold_bp
    assert by_key["guard"].reason is WithholdReason.BELOW_THRESHOLD


def test_a_common_word_lifts_an_agent_over_the_floor():
    note = NoteText(content="The clerk salts.", description="x")
    vectors = vectors_for((80, 85, 88)) | {note.whole: (1.0, 0.0), note.occasion: (1.0, 0.0)}
    found = recognize(
        note,
        TEAM,
        KEYS,
        vectors=vectors,
        calibration=calibration(threshold_bp=1_000, floor_bp=2_000),
        eligibility=NOBODY,
    )

    assert found.granted == ("clerk",)
    assert found.fallback is None


def test_the_plain_cosine_compares_whole_profiles_with_a_fixed_threshold():
    found = recognize(
        NOTE,
        TEAM,
        KEYS,
        vectors=vectors_for((0, 60, 120), score="cosine"),
        calibration=cosine_calibration(4_900),
        eligibility=NOBODY,
    )

    assert [item.score_bp for item in found.verdicts] == [10_000, 5_000, 0]
    assert found.granted == ("cook", "guard")


ANGLES = st.lists(st.floats(min_value=-180, max_value=180), min_size=3, max_size=3)
SUBSETS = st.sets(st.sampled_from(KEYS))


@settings(max_examples=60)
@given(angles=ANGLES, candidates=SUBSETS, excluded=SUBSETS, broken=SUBSETS)
def test_every_agent_has_one_verdict_with_a_reason_or_a_match(angles, candidates, excluded, broken):
    gone = {profile.text: None for profile in distinct_profiles(TEAM) if profile.key in broken}
    by_key, found = decide(
        angles=angles,
        candidates=candidates,
        eligibility=excluding(*excluded),
        vectors=gone,
        calibration=load_calibration(),
    )

    assert tuple(item.key for item in found.verdicts) == KEYS
    for item in found.verdicts:
        assert (item.verdict == "granted") == (item.match_kind is not None) == (item.reason is None)
        assert item.score_bp is None or 0 <= item.score_bp <= 10_000
    granted = set(found.granted)
    assert granted <= candidates - excluded - broken
    matched = {key for key in granted if by_key[key].match_kind == "threshold"}
    assert (found.fallback is None) == bool(matched or not candidates - excluded - broken)
    assert granted == (matched or ({found.fallback} - {None}))


@settings(max_examples=40)
@given(angles=ANGLES, candidates=SUBSETS, scale=st.floats(min_value=1e-6, max_value=1e6))
def test_the_length_of_a_vector_plays_no_part(angles, candidates, scale):
    plain = vectors_for(angles)
    longer = {text: tuple(scale * value for value in vector) for text, vector in plain.items()}

    assert decide(angles, candidates)[1] == decide(angles, candidates, vectors=longer)[1]
