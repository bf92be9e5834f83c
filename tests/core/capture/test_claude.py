"""Claude Code: its session file and its output, whatever a session goes through."""

from __future__ import annotations

import json

import pytest

from tikitaka.capture.sessions import ImportedSession, read_session


class Session:
    """Writes the same session as a session file, or as output."""

    def __init__(self, *, stream: bool = False) -> None:
        self.lines: list[str] = []
        self.stream = stream

    def add(self, kind: str, **fields) -> Session:
        number = len(self.lines)
        name = "session_id" if self.stream else "sessionId"
        line = {"type": kind, name: "thread", "uuid": f"u{number}", "timestamp": f"2026-11-29T10:00:{number:02}.000Z"}
        self.lines.append(json.dumps(line | fields))
        return self

    def user(self, content: object, **fields) -> Session:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: dict, message: str = "m", **fields) -> Session:
        usage = {"input_tokens": 5, "output_tokens": 1}
        return self.add("assistant", message={"id": message, "content": list(blocks), "usage": usage}, **fields)

    def say(self, text: str, **fields) -> Session:
        return self.assistant({"type": "text", "text": text}, **fields)

    def call(self, key: str, name: str, given: dict, **fields) -> Session:
        return self.assistant({"type": "tool_use", "id": key, "name": name, "input": given}, **fields)

    def result(self, key: str, content: object, *, error: bool = False, **fields) -> Session:
        return self.user([{"type": "tool_result", "tool_use_id": key, "content": content, "is_error": error}], **fields)

    def end(self, result: str = "", **fields) -> Session:
        return self.add("result", **({"subtype": "success", "is_error": False, "result": result} | fields))

    def read(self) -> ImportedSession:
        return read_session(self.lines)


def spans(turn) -> list[tuple[str, str]]:
    return [(span.kind, span.status) for span in turn.spans]


class TestCallsInBothForms:
    @pytest.fixture(params=[False, True], ids=["session file", "output"])
    def session(self, request) -> Session:
        started = Session(stream=request.param)
        return started if request.param else started.user("Do it")

    def test_edits_are_file_changes_and_shell_is_a_command(self, session: Session) -> None:
        session.call("1", "Write", {"file_path": "/srv/a.md", "content": "x"})
        session.result("1", "File created successfully at: /srv/a.md")
        session.call("2", "Write", {"file_path": "/srv/b.md", "content": "x"})
        session.result("2", "The file /srv/b.md has been updated successfully.")
        session.call("3", "Edit", {"file_path": "/srv/c.md", "old_string": "x", "new_string": "y"})
        session.result("3", "<tool_use_error>String to replace not found</tool_use_error>", error=True)
        session.call("4", "Bash", {"command": "make"}).result("4", [{"type": "text", "text": "ok"}])
        session.call("5", "Bash", {"command": "make test"}).result("5", "Exit code 2\nboom", error=True)

        (turn,) = session.say("Done.").read().turns
        assert spans(turn) == [
            ("file_change", "completed"),
            ("file_change", "completed"),
            ("file_change", "failed"),
            ("command", "completed"),
            ("command", "failed"),
            ("agent_message", "completed"),
        ]
        assert [span.text for span in turn.spans[:2]] == ["add /srv/a.md", "update /srv/b.md"]
        assert turn.spans[4].data == {"command": "make test", "exit_code": 2}
        assert turn.spans[4].text == "$ make test\nboom"

    def test_parallel_calls_find_their_own_results(self, session: Session) -> None:
        for key in "123":
            session.call(key, "mcp__memo__recall", {"n": key})
        for key in "312":
            session.result(key, f"found {key}", error=key == "2")

        (turn,) = session.say("Done.").read().turns
        assert [span.text for span in turn.spans[:3]] == [f'memo.recall {{"n": "{key}"}}\nfound {key}' for key in "123"]
        assert [span.status for span in turn.spans[:3]] == ["completed", "failed", "completed"]

    def test_thoughts_and_lists_are_reasoning(self, session: Session) -> None:
        session.assistant(
            {"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "redacted_thinking", "data": "x"}
        )
        session.call("1", "TodoWrite", {"todos": [{"content": "Look", "status": "completed"}]}).result("1", "ok")

        (turn,) = session.say("Done.").read().turns
        assert [(span.kind, span.text) for span in turn.spans[:2]] == [("reasoning", "Hm."), ("reasoning", "[x] Look")]

    def test_the_body_of_a_skill_is_injected(self, session: Session) -> None:
        mark = {"isSynthetic": True} if session.stream else {"isMeta": True}
        session.call("1", "Skill", {"skill": "k"}).result("1", "Launching skill: k")
        session.user([{"type": "text", "text": "Never edit by hand."}], **mark)

        (turn,) = session.say("Done.").read().turns
        assert turn.injected == ("Never edit by hand.",)
        assert spans(turn) == [("tool_call", "completed"), ("agent_message", "completed")]

    def test_a_helper_agent_works_but_neither_asks_nor_answers(self, session: Session) -> None:
        aside = {"parent_tool_use_id": "1"} if session.stream else {"isSidechain": True}
        session.call("1", "Task", {"prompt": "Search"})
        session.user("Search", **aside)
        session.call("2", "Bash", {"command": "grep"}, **aside).result("2", "x", **aside)
        session.say("Found.", **aside).result("1", "Found.")

        (turn,) = session.say("Done.").read().turns
        assert spans(turn) == [
            ("tool_call", "completed"),
            ("command", "completed"),
            ("agent_message", "completed"),
            ("agent_message", "completed"),
        ]
        assert [span.data.get("sidechain") for span in turn.spans] == [None, True, True, None]
        assert turn.answer == "Done."

    def test_a_helper_agent_that_speaks_last_does_not_answer(self, session: Session) -> None:
        aside = {"parent_tool_use_id": "1"} if session.stream else {"isSidechain": True}
        (turn,) = session.say("Mine.").say("Its.", **aside).read().turns
        assert turn.answer == "Mine."

    def test_an_interrupted_turn_fails(self, session: Session) -> None:
        session.call("1", "Bash", {"command": "sleep 99"}).result("1", "The user doesn't want to proceed", error=True)
        session.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])

        (turn,) = session.read().turns
        assert (turn.error, turn.answer, spans(turn)) == ("interrupted", None, [("command", "failed")])

    def test_a_line_that_comes_twice_counts_once(self, session: Session) -> None:
        session.say("Wait.").say("Done.")
        session.lines.append(session.lines[-1])

        (turn,) = session.read().turns
        assert [span.text for span in turn.spans] == ["Wait.", "Done."]


class TestSessionFile:
    def test_each_user_message_is_a_turn(self) -> None:
        session = Session().user("One").say("First.", message="a").say("More.", message="a")
        session.user([{"type": "text", "text": "Two"}, {"type": "image", "source": {}}]).say("Second.", message="b")

        one, two = session.read().turns
        assert (one.prompt, one.answer, dict(one.usage)) == ("One", "More.", {"input_tokens": 5, "output_tokens": 1})
        assert (two.prompt, two.answer) == ("Two", "Second.")
        assert one.started_at < one.ended_at < two.started_at

    def test_attachments_and_reminders_are_injected(self) -> None:
        session = Session().user("Do it\n<system-reminder>\nBe kind.\n</system-reminder>")
        session.add("attachment", attachment={"type": "skill_listing", "content": "- k: a skill", "names": ["k"]})
        session.add("attachment", attachment={"type": "delta", "addedLines": ["- helper: helps"], "isInitial": True})
        session.user("This session is being continued from a previous conversation. Summary: x", isCompactSummary=True)

        (turn,) = session.say("Done.").read().turns
        assert turn.prompt == "Do it"
        assert turn.injected[:3] == ("Be kind.", "- k: a skill", "- helper: helps")
        assert turn.injected[3].startswith("This session is being continued")

    def test_commands_of_the_program_are_no_work_unless_they_start_some(self) -> None:
        session = Session()
        session.user(
            "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"
        )
        session.user("<local-command-stdout>Cleared</local-command-stdout>")
        session.user(
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>all</command-args>"
        )
        session.user("Look at the diff and be strict.", isMeta=True).say("Reviewed.")

        (turn,) = session.read().turns
        assert (turn.prompt, turn.answer) == ("/review all", "Reviewed.")
        assert {
            "/clear",
            "<local-command-stdout>Cleared</local-command-stdout>",
            "Look at the diff and be strict.",
        } == set(turn.injected)

    def test_a_prompt_typed_while_the_agent_works_is_a_task(self) -> None:
        session = (
            Session()
            .user("One")
            .call("1", "Bash", {"command": "make"})
            .add("queue-operation", operation="enqueue", content="Two")
        )
        session.result("1", "ok").say("Half.").add("queue-operation", operation="remove")
        session.add("attachment", attachment={"type": "queued_command", "prompt": "Two", "commandMode": "prompt"}).say(
            "Both."
        )

        assert [(t.prompt, t.answer) for t in session.read().turns] == [("One", "Half."), ("Two", "Both.")]

    def test_a_notice_in_the_queue_is_none(self) -> None:
        notice = {
            "type": "queued_command",
            "prompt": "<task-notification>x</task-notification>",
            "commandMode": "task-notification",
        }
        session = Session().user("One").add("attachment", attachment=notice).say("Done.")

        (turn,) = session.read().turns
        assert turn.injected == ("<task-notification>x</task-notification>",)

    def test_the_queue_still_knows_a_prompt_whose_line_is_damaged(self) -> None:
        session = Session()
        for prompt in ("One", "Two"):
            session.add("queue-operation", operation="enqueue", content=prompt).add(
                "queue-operation", operation="dequeue"
            )
            session.user(prompt).say(f"{prompt} done.")
        session.lines[6] = session.lines[6][:40]

        session = session.read()
        assert [(t.prompt, t.answer) for t in session.turns] == [("One", "One done."), ("Two", "Two done.")]
        assert [line.number for line in session.damaged] == [7]

    def test_an_error_of_the_service_is_no_answer(self) -> None:
        session = Session().user("One").say("API Error: 529", isApiErrorMessage=True).user("Two").say("Done.")

        one, two = session.read().turns
        assert (one.error, one.detail, spans(one)) == ("bad_answer", "API Error: 529", [("error", "failed")])
        assert two.answer == "Done."

    def test_an_unfinished_call_at_the_end_is_an_interruption(self) -> None:
        (turn,) = Session().user("One").say("I will look.").call("1", "Bash", {"command": "ls"}).read().turns
        assert (turn.error, spans(turn)[-1]) == ("interrupted", ("command", "started"))

    def test_endless_reminders_are_read_in_no_time(self) -> None:
        (turn,) = Session().user("Do it " + "<system-reminder>" * 20_000).say("Done.").read().turns
        assert turn.prompt == "Do it"


class TestOutput:
    def test_each_result_ends_a_turn(self) -> None:
        session = Session(stream=True).add("system", subtype="init").say("One.").end("One.", usage={"input_tokens": 3})
        session.add("system", subtype="init").user("Again", isReplay=True).say("Two.").end(
            "Two.", usage={"input_tokens": 4}
        )

        session.say("Three.").end("Three.")

        one, two, three = session.read().turns
        assert (three.prompt, three.answer) == (None, "Three.")
        assert (one.prompt, one.answer, dict(one.usage)) == (None, "One.", {"input_tokens": 3})
        assert (two.prompt, two.answer, dict(two.usage)) == ("Again", "Two.", {"input_tokens": 4})

    def test_a_failed_run_keeps_its_reason(self) -> None:
        session = Session(stream=True).say("I will try.").end(subtype="error_max_turns", is_error=True, result=None)

        (turn,) = session.read().turns
        assert (turn.error, turn.detail, turn.answer) == ("bad_answer", "error_max_turns", None)
        assert spans(turn) == [("agent_message", "completed"), ("error", "failed")]

    def test_the_result_stands_in_for_a_lost_answer(self) -> None:
        session = Session(stream=True).say("I will look.").say("Done.").end("Done.")
        session.lines[1] = session.lines[1][:30]

        (turn,) = session.read().turns
        assert [span.text for span in turn.spans] == ["I will look.", "Done."]

    def test_text_in_the_middle_of_a_turn_is_no_persons(self) -> None:
        session = Session(stream=True).call("1", "Skill", {"skill": "k"}).result("1", "Launching skill: k")
        session.user([{"type": "text", "text": "Never edit by hand."}]).say("Done.").end("Done.")

        (turn,) = session.read().turns
        assert (turn.prompt, turn.injected) == (None, ("Never edit by hand.",))
