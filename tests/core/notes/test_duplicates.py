"""The same again, perhaps an update, or new: nothing is merged on nearness alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.notes.duplicates import ExistingNote, compare, injected_sentences, restates, says_the_same
from tikitaka.policy import DEFAULT

BRANCH = "Release branch is main"


def at(degrees):
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def judged(text, *existing):
    """`existing` are (id, text, angle in degrees from the new note)."""
    notes = [ExistingNote(id=key, text=words, vector=at(angle)) for key, words, angle in existing]
    return compare(text, at(0), notes, policy=DEFAULT)


def test_the_same_wording_is_a_duplicate_whatever_the_vector():
    found = judged("  release BRANCH is\nmain", ("far", "Other", 0), ("n1", BRANCH, 90))

    assert (found.kind, found.of, found.similarity_bp) == ("duplicate", "n1", 10_000)


def test_a_near_paraphrase_is_a_duplicate():
    found = judged("The release branch is main", ("n1", BRANCH, 20))

    assert (found.kind, found.of, found.similarity_bp) == ("duplicate", "n1", 9_397)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Tokens live 15 minutes", "Tokens live 30 minutes"),
        ("Keep seven days", "Keep ten days"),
        ("Release branch is now main", BRANCH),
        ("Use trunk instead of main", "Use main"),
        ("Do not deploy on Friday", "Deploy on Friday"),
        ("Deploy with reviews", "Deploy without reviews"),
    ],
)
def test_near_but_different_in_number_change_or_negation_is_only_a_possible_update(new, old):
    found = judged(new, ("n1", old, 0))

    assert (found.kind, found.of) == ("possible_update", "n1")
    assert not says_the_same(new, old)


@pytest.mark.parametrize(
    ("angle", "kind"),
    [(25.8, "duplicate"), (25.9, "possible_update"), (53.1, "possible_update"), (53.2, "new")],
)
def test_the_limits_are_ninety_and_sixty_hundredths(angle, kind):
    found = judged("Team red audits the service", ("n1", "Owner of the service is team red", angle))

    assert found.kind == kind
    assert (found.of is None) == (kind == "new")


def test_a_duplicate_is_found_behind_a_nearer_update():
    found = judged("Tokens live 15 minutes", ("n1", "Tokens live 30 minutes", 0), ("n2", "15 minutes a token", 20))

    assert (found.kind, found.of) == ("duplicate", "n2")


def test_without_notes_it_is_new():
    found = judged("Anything")

    assert (found.kind, found.of, found.similarity_bp) == ("new", None, 0)


def test_an_unusable_vector_is_near_nothing():
    notes = [ExistingNote(id="n1", text=BRANCH, vector=(math.nan, 0.0))]

    assert compare("Other words", at(0), notes, policy=DEFAULT).kind == "new"


@given(
    st.sampled_from(["a b", "never a b", "a b 5", "a b 6", "now a b"]),
    st.sampled_from(["b a", "b a 5", "not b a", "b a instead"]),
)
def test_saying_the_same_has_no_direction(left, right):
    assert says_the_same(left, right) == says_the_same(right, left)


INJECTED = ("# AGENTS\nNever print secrets. Keep   answers short.",)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("never print SECRETS.", True),
        ("Keep answers short", True),
        ("Answers are long", False),
        ("", False),
        ("print secrets", False),
        ("hort.", False),
    ],
)
def test_a_sentence_that_stands_in_injected_text_restates_it(text, known):
    assert restates(text, INJECTED, {}, policy=DEFAULT) is known


def test_a_near_sentence_restates_and_its_opposite_does_not():
    vectors = {"Never print secrets.": at(0), "Secrets are never printed": at(10), "Print secrets": at(5)}

    assert restates("Secrets are never printed", INJECTED, vectors, policy=DEFAULT)
    assert not restates("Print secrets", INJECTED, vectors, policy=DEFAULT)
    assert restates("Print secrets", ["Never print secrets. Print secrets."], {}, policy=DEFAULT)
    assert set(injected_sentences(INJECTED)) == {"# AGENTS", "Never print secrets.", "Keep   answers short."}
