"""Whole files: front matter that every runtime reads back, keys, budgets."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.landing.blocks import find_blocks
from tikitaka.landing.budgets import BudgetFault, check_catalogue, check_instructions, check_skill
from tikitaka.landing.files import (
    LandedNote,
    SkillHead,
    quoted,
    read_skill_head,
    render_instructions,
    render_skill,
    skill_description,
    skill_file,
)
from tikitaka.landing.keys import fold_skill_key, is_skill_key
from tikitaka.policy import DEFAULT
from tikitaka.text import one_line

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def note(number: int = 1, content: str = "Keep it.", description: str = "When it matters") -> LandedNote:
    return LandedNote(
        id=UUID(int=number << 64), content=content, description=description, landed_at=WHEN, expires_at=None
    )


class TestFrontMatter:
    @given(st.text(max_size=300).filter(one_line))
    def test_any_description_parses_back_to_the_same_text(self, description: str) -> None:
        text = render_skill("some-key", [note(description=description)], description_limit=1024)
        head = read_skill_head(text)
        assert head is not None
        assert head.description == one_line(description)
        assert head.name == "some-key"

    @pytest.mark.parametrize(
        "description",
        [
            "Use when: x",
            "a #b",
            "- a",
            "@a",
            "*a",
            "!a",
            "{a",
            "[a",
            "'q' \"q\"",
            "\\",
            "a\nb",
            "---",
            "yes",
            "null",
            "1e3",
            "🎉",
            "x" * 1_100,
        ],
    )
    def test_what_breaks_plain_yaml(self, description: str) -> None:
        text = render_skill("some-key", [note(description=description)], description_limit=1024)
        front = yaml.safe_load(text.split("---\n")[1])
        assert front["description"] == one_line(description)[:1024]
        assert list(front) == ["name", "description", "metadata"]

    def test_front_matter_stands_strictly_first_and_markers_only_in_the_body(self) -> None:
        text = render_skill("some-key", [note()], description_limit=1024)
        assert text.startswith("---\nname: some-key\ndescription: ")
        assert "<!--" not in text.split("---\n")[1]
        assert [block.note for block in find_blocks(text)] == [note().id]

    def test_unicode_is_written_raw(self) -> None:
        assert quoted("für 🎉") == '"für 🎉"'

    @pytest.mark.parametrize(
        "text",
        ["", "no front matter", "\ufeff---\nname: a\n---", "---\nname: a\n", "---\nname: a\n---\n", "---\n: {\n---\n"],
    )
    def test_what_a_runtime_would_drop_has_no_head(self, text: str) -> None:
        assert read_skill_head(text) is None

    def test_a_persons_skill_is_read(self) -> None:
        head = read_skill_head("---\r\nname: x\r\ndescription: hello there\r\nallowed-tools: Bash\r\n---\r\nbody")
        assert head is not None
        assert head.description == "hello there"


class TestRebuilding:
    def test_front_matter_that_would_take_seconds_is_not_read(self) -> None:
        head = "---\nname: x\ndescription: y\n"
        assert read_skill_head(head + "a: b\n---\n" + "long body\n" * 10_000) == SkillHead(name="x", description="y")
        assert read_skill_head(head + "".join(f"k{number}: v\n" for number in range(5_000)) + "---\n") is None

    def test_a_revoked_notes_words_leave_the_front_matter_too(self) -> None:
        both = render_skill(
            "k-key", [note(1, "One.", "First words"), note(2, "Two.", "Second words")], description_limit=1024
        )
        left = render_skill("k-key", [note(2, "Two.", "Second words")], description_limit=1024)
        assert "First words" in both
        assert "First words" not in left
        assert "One." not in left

    def test_joined_descriptions_stay_within_the_length_aimed_at(self) -> None:
        assert len(skill_description(["a" * 150, "b" * 150], limit=1024)) <= 200

    def test_governed_notes_stand_at_the_top_of_the_instructions(self) -> None:
        text = render_instructions(name="Ada", instructions="Be kind.", notes=[note()])
        assert text.index("Keep it.") < text.index("# Ada") < text.index("Be kind.")

    def test_without_notes_the_instructions_are_the_agents_own(self) -> None:
        assert render_instructions(name="Ada", instructions="Be kind.\n\n", notes=[]) == "# Ada\n\nBe kind.\n"


class TestKeys:
    @given(st.text(max_size=100))
    def test_whatever_is_proposed_a_key_is_harmless(self, proposed: str) -> None:
        key = fold_skill_key(proposed, content="content")
        assert key is None or is_skill_key(key)

    @pytest.mark.parametrize(
        "bad", ["..", "a/../b", "%2e%2e", "C:\\x", ".git", "", "ab", "A", "a--b", "-a-", "x" * 65, "con.", "a b"]
    )
    def test_only_keys_become_paths(self, bad: str) -> None:
        with pytest.raises(ValueError, match="key"):
            skill_file(bad)

    @pytest.mark.parametrize("bad", ["..", "a/../b", "C:\\x", ".git", "a.b", "/etc", "．．"])
    def test_path_characters_make_a_key_bad(self, bad: str) -> None:
        assert fold_skill_key(bad, content="x") is None

    def test_a_title_without_latin_letters_still_has_a_key(self) -> None:
        key = fold_skill_key("上传限制", content="uploads")
        assert key is not None
        assert key.startswith("note-")


class TestBudgets:
    def test_instructions_in_bytes_not_characters(self) -> None:
        assert check_instructions("é" * 16_384, policy=DEFAULT) is None
        over = check_instructions("é" * 16_385, policy=DEFAULT)
        assert over is not None
        assert over.reason is BudgetFault.INSTRUCTIONS_TOO_LARGE

    def test_a_skill_body_under_500_lines_and_a_description_under_1025(self) -> None:
        assert check_skill("\n" * 499, "d" * 1024, policy=DEFAULT) is None
        assert check_skill("\n" * 500, "d", policy=DEFAULT).reason is BudgetFault.BODY_TOO_LONG
        assert check_skill("", "d" * 1025, policy=DEFAULT).reason is BudgetFault.DESCRIPTION_TOO_LONG

    def test_an_agents_catalogue(self) -> None:
        assert check_catalogue({"k" * 100: "d" * 7_900}, policy=DEFAULT) is None
        assert check_catalogue({"k" * 100: "d" * 7_901}, policy=DEFAULT).reason is BudgetFault.CATALOGUE_FULL
