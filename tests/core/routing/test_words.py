"""Words, stems and sentences."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.routing.words import content_stems, sentence_spans, stem, tokens


@pytest.mark.parametrize(
    "family",
    [
        ("translators", "translator", "translation", "translations"),
        ("seller", "sellers", "selling"),
        ("prices", "pricing", "price"),
        ("deployments", "deployment", "deploy"),
    ],
)
def test_words_of_one_family_meet(family):
    assert len({stem(word) for word in family}) == 1


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20))
def test_a_stem_is_the_beginning_of_its_word_and_not_empty(word):
    assert word.startswith(stem(word))
    assert stem(word)


def test_function_words_and_possessives_carry_nothing():
    assert content_stems("The client's key is not for you") == content_stems("client key")


@pytest.mark.parametrize("piece", ["!", ". ", " ", "\n", ".)", "e.g."])
def test_hostile_repetition_is_parted_quickly(piece):
    started = time.perf_counter()

    sentence_spans(piece * (50_000 // len(piece)))

    assert time.perf_counter() - started < 2


def test_ideographs_give_pairs():
    assert tokens("环境变量 env") == ["环境", "境变", "变量", "env"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("Port 8.5 stays. Use e.g. this one.", ["Port 8.5 stays.", "Use e.g. this one."]),
        ("先备份。再升级！好", ["先备份。", "再升级！", "好"]),
        ("first line\nsecond line\r\n\n third", ["first line", "second line", "third"]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("ماذا؟ نعم", ["ماذا؟", "نعم"]),
        ("  ", []),
    ],
)
def test_sentences_end_where_readers_see_an_end(text, sentences):
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@given(st.text(max_size=200))
def test_sentences_cover_everything_visible_once_and_in_order(text):
    spans = sentence_spans(text)

    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(a < b for a, b in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
