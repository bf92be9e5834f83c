"""Any bytes are a session or a named refusal, never an exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tikitaka.capture.codex_exec import parse_line
from tikitaka.capture.events import SpanKindName, SpanStatusName
from tikitaka.capture.sessions import ImportedSession, Refusal, UnreadableSession, decode_lines, read_session

CASES = Path(__file__).parents[2] / "cases" / "transcripts"
_NAMES = """
type payload message role content text id call_id name arguments input output status user assistant developer
session_meta response_item event_msg turn_context compacted function_call function_call_output reasoning summary
user_message agent_message task_complete token_count info thread.started turn.started turn.completed turn.failed
item.completed item command_execution file_change mcp_tool_call changes path kind usage error thread_id session_id
sessionId uuid isSidechain attachment tool_use tool_result tool_use_id Bash Edit result queue-operation operation
enqueue dequeue last-prompt session prompt span injected end counts at timestamp exec_command apply_patch
"""
WORDS = st.sampled_from(_NAMES.split())
TEXTS = st.one_of(WORDS, st.text(), st.just("\x00"), st.just("\ud800"), st.just("2026-11-29T21:49:51.009Z"))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(WORDS, TEXTS), inner, max_size=6)),
    max_leaves=20,
)


def judge(data: bytes) -> ImportedSession | None:
    try:
        session = read_session(decode_lines(data))
    except UnreadableSession as refused:
        return None if refused.code in get_args(Refusal) else pytest.fail(f"no known refusal: {refused.code}")
    assert session.turns
    assert 0 < len(session.thread_id) <= 200
    for turn in session.turns:
        assert (turn.answer is None) == (turn.error is not None)
        for span in turn.spans:
            assert span.kind in get_args(SpanKindName)
            assert span.status in get_args(SpanStatusName)
            json.dumps(span.data, allow_nan=False)
        assert all(0 <= count <= 2**53 for count in turn.usage.values())
    return session


@st.composite
def mutated(draw) -> bytes:
    """A real session with parts of its lines replaced, lost, doubled or out of order."""
    path = draw(st.sampled_from(sorted(CASES.glob("*.jsonl"))))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for _ in range(draw(st.integers(1, 4))):
        _mutate(draw, draw(st.sampled_from(lines)))
    order = draw(st.lists(st.sampled_from(range(len(lines))), min_size=1, max_size=len(lines) + 3))
    chosen = lines if draw(st.booleans()) else [lines[index] for index in order]
    return b"\n".join(json.dumps(line).encode() for line in chosen)


def _mutate(draw, value) -> None:
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        if not isinstance(value[key], dict | list) or not value[key] or draw(st.booleans()):
            value[key] = draw(VALUES)
            return
        value = value[key]


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_bytes(data: bytes) -> None:
    judge(data)


@given(st.lists(st.dictionaries(WORDS, VALUES, max_size=6), max_size=6))
@settings(max_examples=300, deadline=None)
def test_any_objects_made_of_the_words_of_the_forms(lines: list[dict]) -> None:
    judge("\n".join(json.dumps(line) for line in lines).encode())


@given(mutated())
@settings(max_examples=400, deadline=None)
def test_real_sessions_with_anything_in_any_place(data: bytes) -> None:
    judge(data)


@given(VALUES)
@settings(deadline=None)
def test_a_running_agent_may_print_anything(value: object) -> None:
    parse_line(json.dumps({"type": "item.completed", "item": value}))
    parse_line(json.dumps(value))


@pytest.mark.parametrize("depth", [50, 150, 5_000, 200_000])
@pytest.mark.parametrize("place", ["arguments", "result"])
def test_endless_nesting(depth: int, place: str) -> None:
    deep = "[" * depth + "1" + "]" * depth
    call = '{"type":"mcp_tool_call","id":"1","server":"s","tool":"t","' + place + '":' + deep + "}"
    line = '{"type":"item.completed","item":' + call + "}"
    parse_line(line)
    session = read_session(['{"type":"thread.started","thread_id":"t"}', line, '{"type":"turn.completed"}'])
    assert [damaged.reason for damaged in session.damaged] == ([] if depth == 50 else ["too_deep"])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "9" * 4_000, "9" * 6_000, "-1", "true"])
def test_numbers_that_no_database_keeps(number: str) -> None:
    lines = [
        '{"type":"thread.started","thread_id":"t"}',
        '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"x","exit_code":'
        + number
        + "}}",
        '{"type":"turn.completed","usage":{"input_tokens":' + number + "}}",
        '{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"done"}}',
    ]
    assert judge("\n".join(lines).encode()) is not None


def test_a_file_of_one_huge_line() -> None:
    lines = ['{"type":"prompt","text":"%s"}' % ("x" * 5_000_000), '{"type":"message","text":"done"}']
    session = read_session(lines)
    assert (len(session.turns[0].prompt or ""), session.thread_named) == (5_000_000, False)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"\x00" * 100, "empty"),
        (b"Dear diary", "empty"),
        (b"[1, 2]", "empty"),
        (b'{"type":"unheard of"}', "unknown_form"),
        (b'{"type":"thread.started","thread_id":"t"}', "no_turns"),
        (b'{"type":"user","isSidechain":true,"sessionId":"s","message":{"content":"x"}}', "helper_only"),
    ],
)
def test_refusals_have_names(data: bytes, code: str) -> None:
    with pytest.raises(UnreadableSession) as refused:
        read_session(decode_lines(data))
    assert refused.value.code == code


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_as_windows_writes_them(encoding: str) -> None:
    lines = ['{"type":"prompt","text":"Grüße \u2028 \x85"}', '{"type":"message","text":"done"}']
    session = read_session(decode_lines("\r\n".join(lines).encode(encoding)))
    assert (session.turns[0].prompt, session.damaged) == ("Grüße \u2028 \x85", ())


def test_a_line_that_is_no_utf8_is_named_and_still_read() -> None:
    session = read_session(decode_lines(b'{"type":"prompt","text":"caf\xe9"}\n{"type":"message","text":"done"}'))
    assert [(line.number, line.reason) for line in session.damaged] == [(1, "not_utf8")]
    assert session.turns[0].prompt.startswith("caf")
