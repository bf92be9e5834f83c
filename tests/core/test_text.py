"""Texts from outside: what is refused, what is replaced, where is cut, which names collide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.errors import Invalid
from tikitaka.policy import DEFAULT, from_environment
from tikitaka.text import clean_captured, cut, digest, has_visible, name_key, one_line, require

anything = st.text(alphabet=st.characters(), max_size=80)


class TestRequire:
    @pytest.mark.parametrize(
        "text",
        ["a\x00b", "a\ud800", "a\x07", "", "   ", "\u200b\u2060", "\ufe0f\ufe0e", "\u3164", "x" * 11, 7, None],
        ids=[
            "NUL",
            "surrogate",
            "bell",
            "empty",
            "blanks",
            "zero width",
            "selectors",
            "filler",
            "long",
            "number",
            "none",
        ],
    )
    def test_refused_with_the_fields_name(self, text) -> None:
        with pytest.raises(Invalid) as error:
            require("prompt", text, limit=10)
        assert list(error.value.fields) == ["prompt"]

    @pytest.mark.parametrize("text", ["a\nb\tc", "漢字", "\\u0000", "🎉"])
    def test_ordinary_text_comes_back_as_it_is(self, text: str) -> None:
        assert require("prompt", text, limit=10) == text

    def test_one_line_where_asked(self) -> None:
        with pytest.raises(Invalid, match="one line"):
            require("name", "a\nb", limit=10, multiline=False)


class TestCaptured:
    @given(anything)
    def test_what_is_stored_holds_no_nul_and_no_surrogate(self, text: str) -> None:
        stored = clean_captured(text)
        assert "\x00" not in stored
        stored.encode("utf-8")
        assert clean_captured(stored) == stored

    def test_replaced_not_dropped(self) -> None:
        assert clean_captured("a\x00b\ud83dc") == "a\ufffdb\ufffdc"


class TestCut:
    @given(anything, st.integers(1, 90))
    def test_a_prefix_within_the_limit(self, text: str, limit: int) -> None:
        assert text.startswith(cut(text, limit))
        assert len(cut(text, limit)) <= limit

    def test_never_inside_a_combined_character(self) -> None:
        assert cut("ae\u0301", 2) == "a"
        assert cut("a👨\u200d👩", 2) == "a"


@given(anything)
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert "\n" not in line
    assert line == line.strip()
    assert one_line(line) == line


@pytest.mark.parametrize("other", ["BACKEND", "back end", "Back.End.", "back-end", "back_end", "ｂackend"])
def test_names_that_a_disk_or_an_eye_would_confuse_are_one(other: str) -> None:
    assert name_key(other) == name_key("Backend")


def test_other_names_stay_apart() -> None:
    assert name_key("team a") != name_key("team b")
    assert has_visible("a")
    assert digest("a") != digest("b")


class TestPolicy:
    def test_values_from_the_environment_within_their_range(self) -> None:
        changed = from_environment({"TIKITAKA_POLICY_WIDTH": "2", "HOME": "/"})
        assert changed.width == 2
        assert changed.digest != DEFAULT.digest

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("WIDTH", "9"),
            ("WIDTH", "x"),
            ("WIDTH", "-1"),
            ("SEGMENT_SIGNAL", "magic"),
            ("RECOGNITION_SCORE", "guess"),
            ("REVIEW_ALL", "maybe"),
            ("AUTO_GRANT", "true"),
            ("NO_SUCH", "1"),
            ("LEASE_S", "5"),
        ],
    )
    def test_what_does_not_fit_is_refused_by_name(self, name: str, value: str) -> None:
        with pytest.raises(Invalid) as error:
            from_environment({f"TIKITAKA_POLICY_{name}": value})
        assert next(iter(error.value.fields)).startswith("TIKITAKA_POLICY_")
