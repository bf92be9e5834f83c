"""The recorded sessions, each as exactly what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tikitaka.capture.sessions import decode_lines, detect_form, read_session

CASES = Path(__file__).parents[2] / "cases" / "transcripts"
WARNING = ("error", "failed", "Model metadata for `mock-model` not found.")
SETTINGS = ("command", "completed", "cat code/apps/server/settings.py")
EXPECTED = {
    "claude-2.1.197-docs.project": (
        "claude_project",
        "0eca7923-2034-4b83-805e-1f706529d686",
        "Write the upload API reference.",
        2,
        [
            ("agent_message", "completed", "I will check the files first."),
            ("command", "failed", "ls && false"),
            ("agent_message", "completed", "The docs folder is empty."),
        ],
        {"input_tokens": 22, "output_tokens": 10},
    ),
    "claude-2.1.197-docs.stream": (
        "claude_stream",
        "0eca7923-2034-4b83-805e-1f706529d686",
        None,
        0,
        [
            ("agent_message", "completed", "I will check the files first."),
            ("command", "failed", "ls && false"),
            ("agent_message", "completed", "The docs folder is empty."),
        ],
        {"input_tokens": 22, "output_tokens": 10},
    ),
    "codex-0.111.0-backend.exec": (
        "codex_exec",
        "01a22949-2bef-7332-886a-b7f52d4f414b",
        None,
        0,
        [
            WARNING,
            SETTINGS,
            ("command", "failed", "sys.exit(3)"),
            ("agent_message", "completed", "Added create_upload"),
        ],
        {"input_tokens": 406, "cached_input_tokens": 28, "output_tokens": 80},
    ),
    "codex-0.111.0-backend.rollout": (
        "codex_rollout",
        "01a22949-2bef-7332-886a-b7f52d4f414b",
        "Implement the upload endpoint and keep the size limit from the settings.",
        4,
        [
            SETTINGS,
            ("command", "failed", "sys.exit(3)"),
            ("file_change", "failed", "add code/apps/server/uploads.py"),
            ("agent_message", "completed", "Added create_upload"),
        ],
        {"input_tokens": 406, "cached_input_tokens": 28, "output_tokens": 80},
    ),
    "codex-0.111.0-frontend.exec": (
        "codex_exec",
        "01a22949-30f8-7c30-9fef-f4172338db7c",
        None,
        0,
        [
            WARNING,
            ("command", "completed", "ls code/apps/web"),
            ("agent_message", "completed", "The upload form posts"),
        ],
        {"input_tokens": 201, "cached_input_tokens": 14, "output_tokens": 40},
    ),
    "codex-0.111.0-frontend.rollout": (
        "codex_rollout",
        "01a22949-30f8-7c30-9fef-f4172338db7c",
        "Build the upload form against the endpoint.",
        4,
        [("command", "completed", "ls code/apps/web"), ("agent_message", "completed", "The upload form posts")],
        {"input_tokens": 201, "cached_input_tokens": 14, "output_tokens": 40},
    ),
    "codex-0.111.0-security.exec": (
        "codex_exec",
        "01a22949-2762-77d3-bc64-d2759fd7650b",
        None,
        0,
        [WARNING, ("reasoning", "completed", "Look at what"), SETTINGS, ("agent_message", "completed", "Reviewed")],
        {"input_tokens": 201, "cached_input_tokens": 14, "output_tokens": 40},
    ),
    "codex-0.111.0-security.rollout": (
        "codex_rollout",
        "01a22949-2762-77d3-bc64-d2759fd7650b",
        "Review which upload settings the frontend may see and state the rule for the team.",
        4,
        [("reasoning", "completed", "Look at what"), SETTINGS, ("agent_message", "completed", "Reviewed")],
        {"input_tokens": 201, "cached_input_tokens": 14, "output_tokens": 40},
    ),
}


def lines(name: str) -> list[str]:
    return decode_lines((CASES / f"{name}.jsonl").read_bytes())


def test_every_recorded_session_is_expected_here() -> None:
    assert {path.name.removesuffix(".jsonl") for path in CASES.glob("*.jsonl")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_session_is_read_whole(name: str) -> None:
    form, thread, prompt, injected, spans, usage = EXPECTED[name]
    session = read_session(lines(name))

    assert (session.form, session.thread_id, session.thread_named) == (form, thread, True)
    assert detect_form(lines(name)) == form
    assert session.damaged == ()
    (turn,) = session.turns
    assert turn.prompt == prompt
    assert len(turn.injected) == injected
    assert [(span.kind, span.status) for span in turn.spans] == [(kind, status) for kind, status, _ in spans]
    for span, (_, _, words) in zip(turn.spans, spans, strict=True):
        assert words in span.text
    assert turn.usage.items() >= usage.items()
    assert turn.error is None
    assert turn.answer == turn.spans[-1].text


@pytest.mark.parametrize("name", [name for name in EXPECTED if EXPECTED[name][2] is None])
def test_a_prompt_given_by_hand_fills_what_the_form_lacks(name: str) -> None:
    assert read_session(lines(name), prompt="What was asked").turns[0].prompt == "What was asked"


@pytest.mark.parametrize("name", [name for name in EXPECTED if EXPECTED[name][2] is not None])
def test_a_recorded_prompt_is_never_replaced(name: str) -> None:
    assert read_session(lines(name), prompt="Something else").turns[0].prompt == EXPECTED[name][2]


@pytest.mark.parametrize("name", EXPECTED)
def test_any_one_damaged_line_is_named_and_the_work_still_comes_in(name: str) -> None:
    whole = [line for line in lines(name) if line]
    for index in range(len(whole)):
        broken = [*whole[:index], whole[index][: len(whole[index]) // 2], *whole[index + 1 :]]
        session = read_session(broken)
        assert [(line.number, line.reason) for line in session.damaged] == [(index + 1, "not_json")]
        assert len(session.turns) == 1
        assert sum(len(turn.spans) for turn in session.turns) >= len(EXPECTED[name][4]) - 1
