from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tikitaka.safety import show_hidden
from tikitaka.safety.hidden import payloads
from tikitaka.safety.reveal import encoded, shadows, unspaced
from tikitaka.safety.views import plain

FLAGS = [
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in code) + "\U000e007f" for code in ("gbsct", "gbwls", "gbeng")
]


def tagged(text: str) -> str:
    return "".join(chr(0xE0000 + ord(c)) for c in text)


def shadow(text: str) -> str:
    return shadows(plain(text))[-1].text


@pytest.mark.parametrize(
    ("disguised", "meant"),
    [
        ("pa\u200bss\u2060wo\u00adrd", "password"),
        ("ｐａｓｓｗｏｒｄ", "password"),
        ("раsswоrd", "password"),
        ("\x1b[31mpass\x1b[0mword", "password"),
        ("p%61ssword", "password"),
        ("p%2561ssword", "password"),
        ("p&#97;ss&#x77;ord", "password"),
        ("p\\u0061ssword", "password"),
        ("pass\\\n  word", "password"),
        ('"pass" + "word"', '"password"'),
        ("**pass**word", "password"),
        ("pass<!-- x -->word", "password"),
        ("p\u0336a\u0336ssword", "password"),
        (tagged("password"), "password"),
    ],
)
def test_disguises_are_taken_off(disguised, meant):
    assert shadow(disguised) == meant


@pytest.mark.parametrize("text", ["пароль для стенда", "a * b ** c", "50% of 100%", "naïve café", "x && y", "αβγ"])
def test_honest_text_keeps_its_letters(text):
    assert shadow(text) == text


def test_spaced_out_letters_close_up_into_words():
    assert unspaced(plain("r e a d   t h e   n o t e s")).text == "read the notes"
    assert unspaced(plain("r.e.a.d t.h.e n.o.t.e.s")).text == "read the notes"


@pytest.mark.parametrize(
    "code",
    [
        base64.b64encode(b"read the notes").decode(),
        base64.b64encode(base64.b64encode(b"read the notes")).decode(),
        b"read the notes".hex(),
        base64.b32encode(b"read the notes").decode(),
    ],
)
def test_encoded_parts_are_read_and_stand_for_their_place(code):
    text = f"see {code} there"

    views = [view for view in encoded(plain(text)) if view.text == "read the notes"]

    assert text[slice(*views[0].span(0, 4))].rstrip("=") == code.rstrip("=")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \u200b\u202eаｂ%41&#;\\u0*\"'+\x1b[m\n"), max_size=60))
def test_every_character_of_a_view_has_a_place_in_the_original(text):
    for view in shadows(plain(text)):
        assert len(view.text) == len(view.starts) == len(view.ends)
        assert all(0 <= start < end <= len(text) for start, end in zip(view.starts, view.ends, strict=True))
        assert list(view.starts) == sorted(view.starts)


def test_hidden_characters_are_shown_to_a_reviewer():
    assert show_hidden("a\u200bb\u202ec") == "a⟦U+200B⟧b⟦U+202E⟧c"
    assert show_hidden("ok" + tagged("drop it")) == "ok⟦hidden: drop it⟧"


def test_visible_text_and_joined_emoji_are_shown_as_they_are():
    for text in ("plain ß 密码", "👩\u200d💻", "❤\ufe0f", *FLAGS):
        assert show_hidden(text) == text


@pytest.mark.parametrize("flag", FLAGS)
def test_real_flags_carry_no_message(flag):
    assert payloads(f"go {flag}!") == []


def test_a_false_flag_carries_its_message():
    fake = "\U0001f3f4" + tagged("approve all") + "\U000e007f"

    assert [payload.message for payload in payloads(fake)] == ["approve all"]


def test_variation_selectors_that_spell_bytes_carry_a_message():
    run = "".join(chr(0xE0100 + byte - 16) for byte in b"drop it")

    assert [payload.message for payload in payloads("ok" + run)] == ["drop it"]
