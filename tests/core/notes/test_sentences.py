"""Durable sentences are copied verbatim, with their place."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.notes.contract import Severity
from tikitaka.notes.cues import CUES, cue_values, is_severe
from tikitaka.notes.sentences import SentenceModel, draft, load_sentence_model, pick, texts_to_embed
from tikitaka.policy import DEFAULT
from tikitaka.segments.extractor_input import TranscriptLine

# Takes a sentence exactly when it holds an obligation.
MODEL = SentenceModel(
    version="t",
    model_digest="",
    vector_weights=(0.0, 0.0),
    cue_weights=tuple(20.0 if cue == "obligation" else 0.0 for cue in CUES),
    bias=-10.0,
    threshold_bp=5_000,
)


def said(*texts, injected=False):
    return [TranscriptLine(speaker="Ops", text=text, injected=injected) for text in texts]


def picked(messages, model=MODEL, policy=DEFAULT):
    vectors = dict.fromkeys(texts_to_embed(messages), (1.0, 0.0))
    return pick(messages, vectors, model, policy=policy)


def test_a_sentence_is_taken_verbatim_with_message_and_span():
    messages = said("looking at it", "Done.  Backups must be tested weekly! ok")
    (found,) = picked(messages)

    assert (found.message, found.text) == (1, "Backups must be tested weekly!")
    assert messages[1].text[found.start : found.end] == found.text
    assert found.score_bp == 10_000


def test_what_was_injected_is_never_taken():
    assert picked(said("Backups must be tested.", injected=True)) == ()
    assert texts_to_embed(said("Backups must be tested.", injected=True)) == ()


def test_the_same_wording_is_taken_once():
    assert [item.message for item in picked(said("You must  log.", "you MUST log."))] == [0]


def test_exactly_the_threshold_is_taken():
    model = dataclasses.replace(MODEL, cue_weights=(0.0,) * len(CUES), bias=0.0)

    assert len(picked(said("Anything here"), model)) == 1
    assert picked(said("Anything here"), dataclasses.replace(model, threshold_bp=5_001)) == ()


@pytest.mark.parametrize("bad", [(), (0.0, 0.0), (float("nan"), 0.0), (1.0, 0.0, 0.0)])
def test_a_sentence_without_a_usable_vector_is_passed_over(bad):
    text = "Backups must be tested."

    assert pick(said(text), {text: bad}, MODEL, policy=DEFAULT) == ()
    assert pick(said(text), {}, MODEL, policy=DEFAULT) == ()


def test_a_sentence_longer_than_a_note_is_passed_over():
    policy = dataclasses.replace(DEFAULT, note_content_chars=10)

    assert picked(said("You must log it."), policy=policy) == ()


def test_sentences_of_other_scripts_are_parted():
    assert texts_to_embed(said("先备份。再升级！好")) == ("先备份。", "再升级！", "好")


@given(st.lists(st.text(alphabet="must. \n!ab。?", max_size=60), max_size=4))
def test_whatever_is_taken_stands_in_its_message(texts):
    messages = said(*texts)

    for item in picked(messages):
        assert messages[item.message].text[item.start : item.end] == item.text
        assert item.text == item.text.strip() != ""


def test_punctuation_and_capitals_are_no_cues():
    assert cue_values("Never log tokens.") == cue_values("never log tokens") == cue_values("NEVER log, tokens!")


@pytest.mark.parametrize(
    ("cue", "sentence", "other"),
    [
        ("plural", "session tokens expire", "the token expired, class dismissed"),
        ("asks", "can you look", "look, you can"),
        ("orders", "Write the report", "the report, written"),
        ("number", "keep 3 copies", "keep copies"),
        ("short", "two identifiers", "always use two identifiers"),
        ("person", "we use tabs", "tabs are used"),
        ("ongoing", "pushing it", "pushed it"),
        ("participle", "pushed it", "pushing it"),
    ],
)
def test_each_cue_is_heard_where_it_stands(cue, sentence, other):
    heard = {text: dict(zip(CUES, cue_values(text), strict=True))[cue] for text in (sentence, other)}

    assert heard == {sentence: 1.0, other: 0.0}


def test_a_note_says_on_what_work_it_was_learned():
    messages = said("Backups must be tested weekly.")
    (note,) = draft(picked(messages), messages, ["Set up\nthe backups."], policy=DEFAULT)

    assert note.content == "Backups must be tested weekly."
    assert note.description == "When working on Set up the backups"
    assert note.severity is Severity.NORMAL


def test_a_long_prompt_is_cut_and_a_missing_one_leaves_a_description():
    messages = said("Backups must be tested weekly.")

    (long,) = draft(picked(messages), messages, ["x" * 5_000], policy=DEFAULT)
    (none,) = draft(picked(messages), messages, [" "], policy=DEFAULT)

    assert len(long.description) == 300
    assert none.description == "When working on similar work"


def test_the_key_is_made_of_the_rarest_words_in_their_order():
    messages = said("the tube tube arrived", "a tube is here", "Potassium tubes must be rejected at reception")
    (note,) = draft(picked(messages), messages, [""] * 3, policy=DEFAULT)

    assert note.skill_key == "potassium-rejected-reception"


@pytest.mark.parametrize("text", ["must 先备份再升级", "must 1234", "it must be so"])
def test_a_sentence_without_words_for_a_key_gets_a_stable_one(text):
    messages = said(text)
    (note,) = draft(picked(messages), messages, [""], policy=DEFAULT)

    assert re.fullmatch(r"note-[0-9a-f]{8}", note.skill_key)


def test_a_flush_holds_eight_notes_and_the_best_stay_in_order():
    messages = said(*(f"Rule {number} must hold" for number in range(12)))
    taken = [dataclasses.replace(item, score_bp=9_000 if item.message % 4 else 6_000) for item in picked(messages)]

    notes = draft(taken, messages, [""] * 12, policy=DEFAULT)

    assert [note.picked.message for note in notes] == [1, 2, 3, 5, 6, 7, 9, 10]


@pytest.mark.parametrize(
    ("text", "severe"),
    [
        ("Never print the root key.", True),
        ("Do not expose backend env values.", True),
        ("Passwörter niemals per Mail senden; das Passwort nie nennen.", True),
        ("API tokens are stored hashed.", False),
        ("Never deploy on Friday.", False),
        ("Keyboards are not delivered.", False),
    ],
)
def test_only_a_prohibition_about_something_sensitive_is_severe(text, severe):
    assert is_severe(text) is severe
    messages = said(f"must: {text.rstrip('.')}")
    (note,) = draft(picked(messages), messages, [""], policy=DEFAULT)
    assert (note.severity is Severity.SEVERE) is severe


def test_the_carried_model_fits_the_cues_and_the_encoder():
    model = load_sentence_model()

    assert len(model.cue_weights) == len(CUES)
    assert len(model.vector_weights) == 384
    assert 5_000 <= model.threshold_bp <= 9_000
