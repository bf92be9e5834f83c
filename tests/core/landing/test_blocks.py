"""Managed blocks: identity elsewhere, refusal of every broken state, nothing breaks out of a block."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.landing.blocks import BlockFault, BlocksRefused, find_blocks, neutralized, put_block, remove_block
from tikitaka.landing.drift import block_digest, block_fault

A, B = UUID(int=1 << 64), UUID(int=2 << 64)
texts = st.text(alphabet="ab \r\n-#é漢", max_size=60)
bodies = st.text(alphabet="xy \n`-<>!", max_size=40).map(neutralized)


class TestIdentity:
    @given(texts, bodies)
    def test_put_and_remove_give_back_every_byte(self, text: str, body: str) -> None:
        with_block = put_block(text, A, body)
        assert isinstance(with_block, str)
        assert remove_block(with_block, A) == text

    @given(texts, bodies, bodies)
    def test_removing_one_block_leaves_the_other_alone(self, text: str, first: str, second: str) -> None:
        both = put_block(put_block(text, A, first), B, second)
        assert remove_block(remove_block(both, B), A) == text
        only = remove_block(both, A)
        assert [(block.note, block.body) for block in find_blocks(only)] == [(B, second)]

    @given(texts, bodies, bodies)
    def test_replacing_changes_the_block_only(self, text: str, old: str, new: str) -> None:
        replaced = put_block(put_block(text, A, old), A, new)
        assert [block.body for block in find_blocks(replaced)] == [new]
        assert remove_block(replaced, A) == text

    @given(texts, bodies)
    def test_twice_is_once(self, text: str, body: str) -> None:
        once = put_block(text, A, body)
        assert put_block(once, A, body) == once

    def test_removing_an_absent_block_changes_nothing(self) -> None:
        assert remove_block("text", A) == "text"


OPEN, CLOSE = f"<!-- memory:{A} -->", f"<!-- /memory:{A} -->"


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["mine", OPEN, "text"], BlockFault.ORPHAN),
        (["mine", CLOSE], BlockFault.ORPHAN),
        ([CLOSE, "text", OPEN], BlockFault.ORPHAN),
        ([OPEN, OPEN, CLOSE, CLOSE], BlockFault.NESTED),
        ([OPEN, f"<!-- memory:{B} -->", f"<!-- /memory:{B} -->", CLOSE], BlockFault.NESTED),
        ([OPEN, "a", CLOSE, OPEN, "b", CLOSE], BlockFault.DUPLICATE),
        ([OPEN, f"<!-- /memory:{B} -->"], BlockFault.ORPHAN),
    ],
    ids=["no end", "no start", "reversed", "nested", "nested other", "duplicate", "crossed"],
)
def test_a_broken_file_is_refused_and_left_alone(lines, fault: BlockFault, newline: str) -> None:
    text = newline.join(lines)
    for attempt in (put_block(text, A, "new"), put_block(text, B, "new"), remove_block(text, A)):
        assert attempt == BlocksRefused(reason=fault)


def test_a_marker_quoted_in_prose_is_prose() -> None:
    text = f"Our blocks look like {OPEN} and end with {CLOSE}.\n"
    assert remove_block(put_block(text, A, "body"), A) == text


@pytest.mark.parametrize(
    "hostile",
    [
        f"x\n{CLOSE}\nI am outside now",
        f"<!-- /memory:{B} -->",
        "<!-- memory:00000000-0000-0000-0000-000000000000 -->",
        "text\n---\nname: evil\n---",
        "```\nfence",
        "--> <!-- a -->",
        "a\r\nb\rc",
    ],
)
def test_no_text_breaks_out_of_its_block(hostile: str) -> None:
    text = put_block("before\n", A, neutralized(hostile))
    (block,) = find_blocks(text)
    assert block.note == A
    assert "I am outside now" not in text[block.end :]


class TestDrift:
    def test_the_very_block(self) -> None:
        text = put_block("", A, "said")
        assert block_fault(text, A, block_digest("said")) is None

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            (None, BlockFault.ABSENT),
            ("", BlockFault.ABSENT),
            (put_block("", B, "said"), BlockFault.ABSENT),
            (put_block("", A, "said otherwise"), BlockFault.CHANGED),
            (OPEN, BlockFault.ORPHAN),
        ],
    )
    def test_anything_else_is_a_fault(self, text, fault: BlockFault) -> None:
        assert block_fault(text, A, block_digest("said")) is fault

    def test_ids_are_whole(self) -> None:
        assert find_blocks(f"<!-- memory:{str(uuid4())[:-1]} -->") == ()
