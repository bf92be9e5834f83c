"""The plain form, as docs/import.md describes it, and the pairing of two recordings."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tikitaka.capture.matching import Outline, align, mark, merged
from tikitaka.capture.sessions import read_session

DOCUMENT = Path(__file__).parents[3] / "docs" / "import.md"


def read(*lines: dict):
    return read_session([json.dumps(line) for line in lines])


def test_the_documented_example_is_read_as_it_says() -> None:
    example = DOCUMENT.read_text(encoding="utf-8").split("```jsonl\n")[1].split("```")[0]
    session = read_session(example.splitlines())

    assert (session.form, session.thread_id, session.damaged) == ("plain", "review-2026-11-29", ())
    one, two = session.turns
    assert (one.prompt, one.answer, one.error) == ("Check the release notes.", "The release notes lack a date.", None)
    assert one.injected == ("House rule: never publish on a Friday.",)
    assert [(span.kind, span.status) for span in one.spans] == [
        ("reasoning", "completed"),
        ("command", "failed"),
        ("file_change", "completed"),
        ("tool_call", "completed"),
        ("agent_message", "completed"),
    ]
    assert one.spans[1].text == "$ make check\nno date found"
    assert one.spans[1].data == {"command": "make check", "exit_code": 2}
    assert one.spans[2].text == "update NOTES.md"
    assert dict(one.usage) == {"input_tokens": 120, "output_tokens": 30}
    assert one.started_at.isoformat() == "2026-11-29T10:00:00+00:00"
    assert (two.prompt, two.error, two.detail) == ("Publish them.", "interrupted", "stopped by the person")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"type": "session"}, "no_thread_id"),
        ({"type": "session", "thread_id": "other"}, "another_thread"),
        ({"type": "prompt"}, "no_text"),
        ({"type": "injected", "text": " "}, "no_text"),
        ({"type": "message", "text": 3}, "no_text"),
        ({"type": "span", "kind": "dance", "text": "x"}, "unknown_kind"),
        ({"type": "span", "kind": ["command"], "text": "x"}, "unknown_kind"),
        ({"type": "span", "kind": "reasoning", "text": "x", "status": "maybe"}, "unknown_status"),
        ({"type": "span", "kind": "reasoning"}, "no_text"),
        ({"type": "usage"}, "no_counts"),
        ({"type": "end", "status": "maybe"}, "unknown_status"),
    ],
)
def test_a_line_that_says_too_little_is_named(line: dict, reason: str) -> None:
    session = read(
        {"type": "session", "thread_id": "t"}, {"type": "prompt", "text": "x"}, {"type": "message", "text": "y"}, line
    )
    assert [(damaged.number, damaged.reason) for damaged in session.damaged] == [(4, reason)]
    assert session.turns[0].answer == "y"


def test_a_span_with_a_known_key_is_the_same_span_later() -> None:
    session = read(
        {"type": "prompt", "text": "x"},
        {
            "type": "span",
            "kind": "command",
            "command": "ls",
            "key": "1",
            "status": "started",
            "at": "2026-11-29T10:00:00Z",
        },
        {"type": "span", "kind": "command", "command": "ls", "key": "1", "text": "a", "at": "2026-11-29T10:00:05Z"},
        {"type": "message", "text": "done"},
    )
    span = session.turns[0].spans[0]
    assert (len(session.turns[0].spans), span.status, span.text, span.at.second) == (2, "completed", "$ ls\na", 0)


def outline(prompt: str = "", answer: str = "", *marks: str) -> Outline:
    return Outline(prompt=prompt, answer=answer, marks=Counter(marks))


class TestAlign:
    @pytest.mark.parametrize(
        ("incoming", "stored", "same_form", "expected"),
        [
            ([outline("a", "x")], [], False, [None]),
            ([outline("a", "x")], [outline("", "x")], False, [0]),
            ([outline("", "x"), outline("", "y")], [outline("b", "y"), outline("a", "x")], False, [1, 0]),
            ([outline("a", "x")], [outline("b", "x")], False, [None]),
            ([outline("go", "x"), outline("go", "x")], [outline("go", "x"), outline("go", "x")], False, [0, 1]),
            ([outline("go", "y")], [outline("go", "x")], False, [None]),
            ([outline("a")], [outline("", "", "m")], False, [0]),
            ([outline("a")], [outline("", "", "m")], True, [None]),
            ([outline("", "y")], [outline("", "x")], False, [None]),
            ([outline()], [outline()], True, [0]),
            ([outline("", "", "m", "n")], [outline("", "", "n"), outline("", "", "m", "n")], True, [1]),
        ],
    )
    def test_the_likest_pairs_come_first(self, incoming, stored, same_form, expected) -> None:
        assert align(incoming, stored, same_form=same_form) == expected


def test_marks_of_two_forms_meet() -> None:
    wrapped = mark("command", "", {"command": "/bin/bash -lc 'python3 -c \"import sys\"'"})
    assert wrapped == mark("command", "", {"command": 'python3 -c "import sys"'})
    assert wrapped != mark("command", "", {"command": 'python3 -c "import os"'})
    absolute = mark("file_change", "x", {"changes": [{"path": "/srv/a/b.py"}]})
    assert absolute == mark("file_change", "y", {"changes": [{"path": "a/b.py"}]})
    assert mark("tool_call", "t {}\nresult", {}) == mark("tool_call", "t {}", {})
    assert mark("reasoning", "a  b", {}) == mark("reasoning", "a b", {}) != mark("agent_message", "a b", {})


def test_merged_keeps_the_order_of_both() -> None:
    assert merged(["b", "d"], ["a", "b", "c", "d", "d"]) == ([None, 0, None, 1, None], [(0, 0), (2, 1), (4, 2)])
