"""Codex: what a session file says twice is taken once, whatever a session goes through."""

from __future__ import annotations

import json

from tikitaka.capture.sessions import ImportedSession, read_session

INSTRUCTIONS = "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>"
ENVIRONMENT = "<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>"


class Rollout:
    """Writes a session file as Codex does."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.total = 0
        self.add("session_meta", {"id": "thread"})

    def add(self, kind: str, payload: dict) -> Rollout:
        at = f"2026-11-29T10:00:{len(self.lines):02}.000Z"
        self.lines.append(json.dumps({"timestamp": at, "type": kind, "payload": payload}))
        return self

    def item(self, kind: str, **fields) -> Rollout:
        return self.add("response_item", {"type": kind, **fields})

    def event(self, name: str, **fields) -> Rollout:
        return self.add("event_msg", {"type": name, **fields})

    def user(self, *texts: str) -> Rollout:
        return self.item("message", role="user", content=[{"type": "input_text", "text": t} for t in texts])

    def ask(self, prompt: str) -> Rollout:
        self.event("task_started").user(INSTRUCTIONS, ENVIRONMENT)
        return self.user(prompt).event("user_message", message=prompt)

    def call(self, name: str, arguments: dict, output: object, key: str, **more) -> Rollout:
        self.item("function_call", name=name, arguments=json.dumps(arguments), call_id=key, **more)
        return self.item("function_call_output", call_id=key, output=output)

    def answer(self, text: str, tokens: int = 10) -> Rollout:
        self.event("agent_message", message=text)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])
        self.total += tokens
        self.event("token_count", info={"total_token_usage": {"input_tokens": self.total}})
        return self.event("task_complete", last_agent_message=text)

    def read(self) -> ImportedSession:
        return read_session(self.lines)


def spans(turn) -> list[tuple[str, str]]:
    return [(span.kind, span.status) for span in turn.spans]


def test_a_resumed_session_has_one_turn_for_each_user_message() -> None:
    session = (
        Rollout()
        .ask("One")
        .answer("First.")
        .ask("continue")
        .answer("Second.", 7)
        .ask("continue")
        .answer("Third.")
        .read()
    )

    assert [(t.prompt, t.answer) for t in session.turns] == [
        ("One", "First."),
        ("continue", "Second."),
        ("continue", "Third."),
    ]
    assert [len(turn.spans) for turn in session.turns] == [1, 1, 1]
    assert [turn.usage["input_tokens"] for turn in session.turns] == [10, 7, 10]
    assert session.turns[0].injected == (INSTRUCTIONS, ENVIRONMENT)
    assert session.turns[1].injected == ()
    assert session.turns[0].started_at < session.turns[0].ended_at < session.turns[1].started_at


def test_text_in_the_role_of_the_user_that_nobody_typed_is_injected() -> None:
    session = Rollout().ask("Use the skill").user("<new kind of block>\nAlways say please.").answer("Please.").read()

    (turn,) = session.turns
    assert turn.prompt == "Use the skill"
    assert "<new kind of block>\nAlways say please." in turn.injected


def test_a_file_without_screen_events_still_has_its_prompts() -> None:
    rollout = Rollout().user(INSTRUCTIONS).user("Do it")
    rollout.item("message", role="assistant", content=[{"type": "output_text", "text": "Done."}])

    (turn,) = rollout.read().turns
    assert (turn.prompt, turn.answer, turn.injected) == ("Do it", "Done.", (INSTRUCTIONS,))


def test_an_older_file_names_the_kind_of_its_user_messages() -> None:
    rollout = Rollout().event("user_message", message="Be kind.", kind="user_instructions")
    rollout.event("user_message", message="Do it", kind="plain").event("agent_message", message="Done.")

    (turn,) = rollout.read().turns
    assert (turn.prompt, turn.injected, turn.answer) == ("Do it", ("Be kind.",), "Done.")


def test_a_message_with_an_image_is_one_prompt() -> None:
    rollout = Rollout()
    rollout.item(
        "message",
        role="user",
        content=[{"type": "input_text", "text": "Look"}, {"type": "input_image", "image_url": "data:"}],
    )
    rollout.event("user_message", message="Look", images=["data:"]).answer("Nice.")

    assert [turn.prompt for turn in rollout.read().turns] == ["Look"]


def test_words_said_while_the_agent_works_are_a_task_of_their_own() -> None:
    rollout = Rollout().ask("One").call("exec_command", {"cmd": "ls"}, "Process exited with code 0\nOutput:\na", "c1")
    rollout.user("Stop, two").event("user_message", message="Stop, two").answer("Two done.")

    one, two = rollout.read().turns
    assert (one.prompt, one.error) == ("One", "no_answer")
    assert (two.prompt, two.answer, spans(two)) == ("Stop, two", "Two done.", [("agent_message", "completed")])


def test_an_interrupted_turn_fails_and_the_next_goes_on() -> None:
    rollout = Rollout().ask("One")
    rollout.item("function_call", name="exec_command", arguments='{"cmd": "sleep 99"}', call_id="c1")
    rollout.event("turn_aborted", reason="interrupted").user("<turn_aborted>The user interrupted</turn_aborted>")
    rollout.ask("Two").answer("Done.")

    one, two = rollout.read().turns
    assert (one.error, one.detail, spans(one)) == ("interrupted", "interrupted", [("command", "started")])
    assert (two.prompt, two.answer, two.error) == ("Two", "Done.", None)


def test_work_after_the_end_of_a_turn_still_belongs_to_it() -> None:
    rollout = Rollout().ask("One").answer("Done.").event("agent_reasoning", text="That went well.")

    assert [spans(turn) for turn in rollout.ask("Two").answer("Also done.").read().turns] == [
        [("agent_message", "completed"), ("reasoning", "completed")],
        [("agent_message", "completed")],
    ]


def test_a_recording_that_breaks_off_is_interrupted() -> None:
    rollout = Rollout().ask("One").event("agent_message", message="I will look.")
    rollout.item("function_call", name="exec_command", arguments='{"cmd": "ls"}', call_id="c1")

    (turn,) = rollout.read().turns
    assert (turn.error, turn.answer) == ("interrupted", None)


def test_commands_in_every_way_of_writing_them() -> None:
    rollout = Rollout().ask("One")
    rollout.call(
        "exec_command", {"cmd": "a"}, "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nx", "1"
    )
    rollout.call(
        "shell", {"command": ["bash", "-lc", "b 'c d'"]}, json.dumps({"output": "x", "metadata": {"exit_code": 0}}), "2"
    )
    rollout.call("shell_command", {"command": "c"}, "Exit code: 1\nWall time: 1 seconds\nOutput:\nx", "3")
    rollout.call("shell", {"command": ["ls"]}, {"content": "x", "success": False}, "4")
    rollout.call("exec_command", {"cmd": "e"}, "exec_command failed for `e`: denied", "5")
    rollout.call("exec_command", {"cmd": "f"}, [{"type": "input_text", "text": "Exit code: 0\nOutput:\nx"}], "6")
    rollout.item("local_shell_call", call_id="7", action={"type": "exec", "command": ["g"]})
    rollout.event("exec_command_end", call_id="7", command=["g"], exit_code=4, aggregated_output="x")
    rollout.event("exec_command_end", call_id="8", command=["bash", "-lc", "h"], exit_code=0, aggregated_output="x")

    (turn,) = rollout.answer("Done.").read().turns
    commands = [span for span in turn.spans if span.kind == "command"]
    assert [span.data["command"] for span in commands] == ["a", "b 'c d'", "c", "ls", "e", "f", "g", "h"]
    assert [span.data["exit_code"] for span in commands] == [2, 0, 1, None, None, 0, 4, 0]
    assert [span.status for span in commands] == [
        *("failed", "completed", "failed", "failed", "failed", "completed", "failed", "completed")
    ]
    assert commands[0].text == "$ a\nx"


def test_a_command_that_goes_on_is_one_span() -> None:
    rollout = Rollout().ask("One")
    rollout.call(
        "exec_command", {"cmd": "make"}, "Wall time: 1\nProcess running with session ID 77\nOutput:\none\n", "1"
    )
    rollout.call(
        "write_stdin", {"session_id": 77, "chars": ""}, "Wall time: 1\nProcess exited with code 1\nOutput:\ntwo", "2"
    )

    (turn,) = rollout.answer("Done.").read().turns
    assert spans(turn) == [("command", "failed"), ("agent_message", "completed")]
    assert turn.spans[0].text == "$ make\none\ntwo"


def test_parallel_calls_find_their_own_results() -> None:
    rollout = Rollout().ask("One")
    for key in ("1", "2", "3"):
        rollout.item("function_call", name="exec_command", arguments=json.dumps({"cmd": f"run {key}"}), call_id=key)
    for key in ("3", "1", "2"):
        rollout.item(
            "function_call_output", call_id=key, output=f"Process exited with code {int(key) - 1}\nOutput:\nout {key}"
        )

    (turn,) = rollout.answer("Done.").read().turns
    assert [span.text for span in turn.spans[:3]] == [f"$ run {key}\nout {key}" for key in "123"]
    assert [span.status for span in turn.spans[:3]] == ["completed", "failed", "failed"]


def test_file_changes_in_every_way_of_writing_them() -> None:
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n@@\n*** Delete File: c.py\n*** End Patch"
    rollout = Rollout().ask("One")
    rollout.item("custom_tool_call", name="apply_patch", input=patch, call_id="1")
    rollout.item(
        "custom_tool_call_output", call_id="1", output=json.dumps({"output": "Success.", "metadata": {"exit_code": 0}})
    )
    rollout.call("apply_patch", {"input": patch}, "Success. Updated the following files:\nA a.py", "2")
    rollout.call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"}, "Exit code: 0\nOutput:\nSuccess.", "3")
    rollout.call("shell", {"command": ["apply_patch", patch]}, "apply_patch verification failed: no such file", "4")
    rollout.event("patch_apply_end", call_id="5", success=True, changes={"d.py": {"add": {"content": "x"}}})

    (turn,) = rollout.answer("Done.").read().turns
    changes = [span for span in turn.spans if span.kind == "file_change"]
    assert [span.status for span in changes] == ["completed", "completed", "completed", "failed", "completed"]
    assert changes[0].text == "add a.py\nupdate b.py\ndelete c.py"
    assert changes[4].data == {"changes": [{"path": "d.py", "kind": "add"}]}


def test_tool_calls_of_servers_are_named_as_in_the_output() -> None:
    rollout = Rollout().ask("One")
    rollout.call("mcp__memo__recall", {"b": 1, "a": "x"}, json.dumps([{"type": "text", "text": "found"}]), "1")
    rollout.call("recall", {}, "tool call error: gone", "2", namespace="mcp__memo")
    rollout.event(
        "mcp_tool_call_end",
        call_id="3",
        invocation={"server": "memo", "tool": "save", "arguments": {"k": 1}},
        result={"Err": "refused"},
    )
    rollout.item("web_search_call", status="completed", action={"type": "search", "query": "weather"})

    (turn,) = rollout.answer("Done.").read().turns
    assert spans(turn)[:4] == [
        ("tool_call", "completed"),
        ("tool_call", "failed"),
        ("tool_call", "failed"),
        ("tool_call", "completed"),
    ]
    assert [span.text.splitlines()[0] for span in turn.spans[:4]] == [
        'memo.recall {"a": "x", "b": 1}',
        "memo.recall {}",
        'memo.save {"k": 1}',
        'web_search {"query": "weather"}',
    ]


def test_a_plan_that_changes_is_one_span() -> None:
    rollout = Rollout().ask("One")
    for status in ("pending", "completed"):
        rollout.call("update_plan", {"plan": [{"step": "Look", "status": status}]}, "Plan updated", status)

    (turn,) = rollout.answer("Done.").read().turns
    assert [(span.kind, span.text) for span in turn.spans] == [("reasoning", "[x] Look"), ("agent_message", "Done.")]


def test_thoughts_and_words_are_taken_once_but_said_twice_are_two() -> None:
    rollout = Rollout().ask("One")
    for _ in range(2):
        rollout.event("agent_reasoning", text="Hm.").event("agent_reasoning", text="Ah.")
        rollout.item("reasoning", summary=[{"type": "summary_text", "text": t} for t in ("Hm.", "Ah.")])
    rollout.event("agent_message", message="Wait.")
    rollout.item("message", role="assistant", content=[{"type": "output_text", "text": "Wait."}])

    (turn,) = rollout.answer("Wait.").read().turns
    assert [span.text for span in turn.spans] == ["Hm.", "Ah.", "Hm.", "Ah.", "Wait.", "Wait."]


def test_a_summary_of_what_went_before_is_injected() -> None:
    rollout = Rollout().ask("One").answer("Done.").add("compacted", {"message": "Summary: all is well."})

    session = rollout.ask("Two").answer("Also done.").read()
    assert [turn.injected for turn in session.turns][1] == ("Summary: all is well.",)


def test_the_file_of_a_forked_session_keeps_its_own_name() -> None:
    rollout = Rollout().add("session_meta", {"id": "the parent"}).ask("One").answer("Done.")

    session = rollout.read()
    assert (session.thread_id, session.damaged) == ("thread", ())


def test_a_lost_name_is_made_from_the_content() -> None:
    rollout = Rollout().ask("One").answer("Done.")
    first, second = read_session(rollout.lines[1:]), read_session([*rollout.lines[1:], ""])

    assert first.thread_id == second.thread_id != read_session(rollout.lines[2:]).thread_id
    assert not first.thread_named


class TestOutput:
    @staticmethod
    def read(*events: dict, **more) -> ImportedSession:
        return read_session([json.dumps(e) for e in ({"type": "thread.started", "thread_id": "t"}, *events)], **more)

    @staticmethod
    def item(key: str, kind: str, *, event: str = "item.completed", **fields) -> dict:
        return {"type": event, "item": {"id": key, "type": kind, **fields}}

    def test_ids_count_anew_in_each_turn(self) -> None:
        turn = [
            {"type": "turn.started"},
            self.item("item_0", "command_execution", event="item.started", command="ls", status="in_progress"),
            self.item("item_0", "command_execution", command="ls", exit_code=0, status="completed"),
            self.item("item_1", "agent_message", text="Done."),
            {"type": "turn.completed", "usage": {"input_tokens": 3}},
        ]
        session = self.read(*turn, *turn, prompt="One")

        assert [turn.prompt for turn in session.turns] == ["One", None]
        assert [spans(turn) for turn in session.turns] == [
            [("command", "completed"), ("agent_message", "completed")]
        ] * 2

    def test_a_failed_turn_keeps_its_reason(self) -> None:
        session = self.read(
            {"type": "turn.started"},
            self.item("item_0", "agent_message", text="I will try."),
            {"type": "error", "message": "429"},
            {"type": "turn.failed", "error": {"message": "429 too many requests"}},
        )

        (turn,) = session.turns
        assert (turn.error, turn.detail, turn.answer) == ("bad_answer", "429 too many requests", None)
        assert spans(turn) == [("agent_message", "completed"), ("error", "failed")]

    def test_searches_and_declined_commands(self) -> None:
        session = self.read(
            self.item("1", "web_search", query="weather"),
            self.item("2", "command_execution", command="rm", status="declined"),
            self.item("3", "agent_message", text="Done."),
        )
        assert spans(session.turns[0])[:2] == [("tool_call", "completed"), ("command", "failed")]

    def test_another_thread_in_the_same_file_is_pointed_out(self) -> None:
        session = self.read(self.item("1", "agent_message", text="Done."), {"type": "thread.started", "thread_id": "u"})
        assert [(line.number, line.reason) for line in session.damaged] == [(3, "another_thread")]

    def test_a_shape_that_is_wrong_is_damage(self) -> None:
        session = self.read(self.item("1", "agent_message", text="Done."), {"type": "item.completed", "item": "x"})
        assert [(line.number, line.reason) for line in session.damaged] == [(3, "wrong_shape")]
