"""GenAI spans as OTLP JSON: the same sessions in every order and every split, and never an exception."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.traces import (
    BEGAN,
    assistant,
    attributes,
    chat,
    conversation,
    event,
    gives,
    request,
    span,
    user,
    wants,
)
from tikitaka.capture import otlp_spans
from tikitaka.capture.documents import read_document, read_trace_document
from tikitaka.capture.events import SpanKindName, SpanStatusName
from tikitaka.capture.otlp import Traces, by_agent, read_traces
from tikitaka.capture.sessions import ImportedSession, Refusal, UnreadableSession


def read(*spans: dict, **more) -> Traces:
    return read_traces([request(*spans, **more)])


def only(*spans: dict, **more) -> ImportedSession:
    (session,) = read(*spans, **more).sessions
    return session


def trace(session: ImportedSession, turn: int = 0) -> list[tuple[str, str, str]]:
    return [(draft.kind, draft.status, draft.text) for draft in session.turns[turn].spans]


def undamaged(traces: Traces) -> list[ImportedSession]:
    """The sessions without the places of damaged spans, which depend on the order by their nature."""
    return sorted((replace(one, damaged=()) for one in traces.sessions), key=lambda one: (one.agent, one.thread_id))


class TestConversation:
    def test_each_question_is_a_turn_however_often_it_is_repeated(self) -> None:
        session = only(*conversation())

        assert (session.form, session.agent, session.thread_id, session.damaged) == ("otlp", "Backend", "conv-1", ())
        assert [(turn.prompt, turn.answer, turn.error) for turn in session.turns] == [
            ("Why do the uploads fail?", "The checks need the variable UPLOAD_BUCKET.", None),
            ("Set it, please.", "It is set.", None),
        ]

    def test_calls_of_tools_are_spans_once_in_the_order_of_time(self) -> None:
        session = only(*conversation())

        assert trace(session) == [
            ("agent_message", "completed", "I will look at the checks."),
            ("command", "completed", "$ make check\nno bucket is set"),
            ("tool_call", "completed", 'read_setting {"name": "UPLOAD_BUCKET"}\nunset'),
            ("agent_message", "completed", "The checks need the variable UPLOAD_BUCKET."),
        ]
        assert trace(session, 1) == [("agent_message", "completed", "It is set.")]
        assert [round(draft.at.timestamp() - BEGAN) for draft in session.turns[0].spans] == [2, 2, 6, 10]

    def test_instructions_are_injected_once(self) -> None:
        assert [turn.injected for turn in only(*conversation()).turns] == [
            ("House rule: never publish on a Friday.",),
            (),
        ]

    def test_times_and_counts(self) -> None:
        one, two = only(*conversation()).turns
        assert (one.started_at.timestamp() - BEGAN, one.ended_at.timestamp() - BEGAN) == (0, 20)
        assert dict(one.usage) == {"input_tokens": 60}
        assert dict(two.usage) == {"output_tokens": 5}

    def test_counts_of_calls_are_added_where_the_agent_has_none(self) -> None:
        one, _ = only(*conversation()[1:]).turns
        assert dict(one.usage) == {"input_tokens": 60}

    def test_a_turn_of_which_only_a_later_call_tells_comes_first(self) -> None:
        session = only(conversation()[-1])

        assert [(turn.prompt, turn.answer, turn.error) for turn in session.turns] == [
            ("Why do the uploads fail?", "The checks need the variable UPLOAD_BUCKET.", None),
            ("Set it, please.", "It is set.", None),
        ]
        assert [kind for kind, _, _ in trace(session)] == ["agent_message", "command", "tool_call", "agent_message"]
        assert session.turns[0].started_at is None

    def test_a_run_of_a_tool_joins_the_turn_of_which_only_a_later_call_tells(self) -> None:
        spans = conversation()
        session = only(spans[2], spans[-1])

        assert [turn.prompt for turn in session.turns] == ["Why do the uploads fail?", "Set it, please."]
        assert session.turns[0].started_at.timestamp() - BEGAN == 3

    def test_the_same_words_again_are_a_turn_of_their_own(self) -> None:
        said = [user("Go."), assistant("Done."), user("Go.")]
        session = only(
            chat(1, 1, 0, 1, said[:1], [assistant("Done.")]),
            chat(2, 1, 2, 3, said, [assistant("Done.")]),
            chat(3, 1, 4, 5, [*said, assistant("Done."), user("Go.")], [assistant("Again.")]),
        )
        assert [(turn.prompt, turn.answer) for turn in session.turns] == [
            ("Go.", "Done."),
            ("Go.", "Done."),
            ("Go.", "Again."),
        ]

    def test_a_server_that_keeps_the_history_is_asked_anew_in_each_trace(self) -> None:
        named = {"gen_ai__conversation__id": "c"}
        session = only(
            chat(1, 1, 0, 1, [user("Go.")], [wants("k", "look", {})], **named),
            chat(2, 2, 2, 3, [gives("k", "seen")], [assistant("Done.")], **named),
            chat(3, 3, 4, 5, [user("Go.")], [assistant("Again.")], **named),
        )
        assert [(turn.prompt, turn.answer, len(turn.spans)) for turn in session.turns] == [
            ("Go.", "Done.", 2),
            ("Go.", "Again.", 1),
        ]

    def test_a_call_that_is_tried_again_is_one_turn(self) -> None:
        session = only(
            chat(1, 1, 0, 1, [user("Go.")], [], error__type="429", status={"code": 2, "message": "slow down"}),
            chat(2, 1, 2, 3, [user("Go.")], [assistant("Done.")]),
        )
        assert [(turn.prompt, turn.answer, turn.error) for turn in session.turns] == [("Go.", "Done.", None)]
        assert trace(session) == [("error", "failed", "429: slow down"), ("agent_message", "completed", "Done.")]


class TestHowATurnEnds:
    def test_it_failed(self) -> None:
        session = only(chat(1, 1, 0, 1, [user("Go.")], [], error__type="timeout"))
        assert (session.turns[0].error, session.turns[0].detail) == ("bad_answer", "timeout")

    def test_it_broke_off(self) -> None:
        session = only(chat(1, 1, 0, 1, [user("Go.")], [wants("k", "look", {}, said="First I look.")]))
        assert (session.turns[0].error, session.turns[0].answer) == ("interrupted", None)
        assert trace(session)[-1] == ("tool_call", "started", "look {}")

    def test_it_holds_no_answer(self) -> None:
        assert only(chat(1, 1, 0, 1, [user("Go.")], [])).turns[0].error == "no_answer"

    def test_a_tool_failed(self) -> None:
        failed = span(
            2,
            1,
            2,
            3,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="look",
            gen_ai__tool__call__id="k",
            status={"code": "STATUS_CODE_ERROR", "message": "no such place"},
        )
        session = only(chat(1, 1, 0, 1, [user("Go.")], [wants("k", "look", {"at": 1})]), failed)
        assert trace(session) == [("tool_call", "failed", 'look {"at": 1}\nno such place')]


class TestWhoseItIs:
    def test_a_span_below_an_agent_is_the_agents(self) -> None:
        spans = [
            span(
                1,
                1,
                0,
                9,
                gen_ai__operation__name="invoke_agent",
                gen_ai__agent__name="A",
                gen_ai__conversation__id="c",
            ),
            span(2, 1, 1, 8, 1, http__method="POST"),
            chat(3, 1, 2, 3, [user("Ask B.")], [wants("k", "b", {})], parent=2),
            span(4, 1, 3, 6, 1, gen_ai__operation__name="execute_tool", gen_ai__tool__name="b"),
            span(5, 1, 3, 6, 4, gen_ai__operation__name="invoke_agent", gen_ai__agent__id="asst_7"),
            chat(6, 1, 4, 5, [user("You are asked.")], [assistant("B speaks.")], parent=5),
        ]
        found = by_agent(read(*spans).sessions)

        assert {name: [(one.thread_id, one.turns[0].prompt) for one in of] for name, of in found.items()} == {
            "A": [("c", "Ask B.")],
            "asst_7": [("c", "You are asked.")],
        }

    def test_without_an_agent_it_is_the_services_and_without_a_conversation_the_traces(self) -> None:
        session = only(chat(1, 0xAB, 0, 1, [user("Go.")], [assistant("Done.")]), service="checkout")
        assert (session.agent, session.thread_id) == ("checkout", f"{0xAB:032x}")

    def test_parents_in_a_circle_and_parents_that_are_absent(self) -> None:
        spans = [
            chat(1, 1, 0, 1, [user("a")], [assistant("x")], parent=2),
            span(2, 1, 0, 1, 3),
            span(3, 1, 0, 1, 1),
            chat(4, 1, 2, 3, [user("b")], [assistant("y")], parent=4),
            chat(5, 1, 4, 5, [user("c")], [assistant("z")], parent=99),
        ]
        assert len(only(*spans).turns) == 3

    def test_a_chain_of_parents_as_long_as_the_bound_is_gone_through_once(self) -> None:
        chain = [span(number, 1, 0, 1, number - 1) for number in range(2, otlp_spans.SPANS_MAX)]
        last = chat(otlp_spans.SPANS_MAX, 1, 0, 1, [user("a")], [assistant("x")], parent=otlp_spans.SPANS_MAX - 1)
        root = span(1, 1, 0, 1, gen_ai__agent__name="Deep")
        assert only(root, *chain, last).agent == "Deep"


class TestWaysOfWriting:
    WANTED = [("Go.", "Done.")]

    def said(self, one: dict) -> list[tuple[str | None, str | None]]:
        return [(turn.prompt, turn.answer) for turn in only(one).turns]

    def test_values_instead_of_json(self) -> None:
        one = span(
            1,
            1,
            0,
            1,
            gen_ai__operation__name="chat",
            gen_ai__input__messages=[user("Go.")],
            gen_ai__output__messages=[assistant("Done.")],
        )
        assert self.said(one) == self.WANTED

    @pytest.mark.parametrize(
        "events",
        [
            [
                event("gen_ai.system.message", content="Be brief."),
                event("gen_ai.user.message", content="Go."),
                event("gen_ai.choice", message=json.dumps({"role": "assistant", "content": "Done."}), index=0),
            ],
            [
                event("gen_ai.user.message", gen_ai__event__content=json.dumps({"content": "Go."})),
                event("gen_ai.choice", gen_ai__event__content=json.dumps({"message": {"content": "Done."}})),
            ],
            [
                event("gen_ai.content.prompt", gen_ai__prompt=json.dumps([{"role": "user", "content": "Go."}])),
                event("gen_ai.content.completion", gen_ai__completion="Done."),
            ],
            [
                event(
                    "gen_ai.client.inference.operation.details",
                    gen_ai__input__messages=json.dumps([user("Go.")]),
                    gen_ai__output__messages=json.dumps([assistant("Done.")]),
                )
            ],
        ],
    )
    def test_older_events(self, events: list[dict]) -> None:
        assert self.said(span(1, 1, 0, 1, gen_ai__operation__name="chat", events=events)) == self.WANTED

    def test_numbered_attributes(self) -> None:
        one = span(
            1,
            1,
            0,
            1,
            gen_ai__prompt__0__role="system",
            gen_ai__prompt__0__content="Be brief.",
            gen_ai__prompt__1__role="user",
            gen_ai__prompt__1__content="Go.",
            gen_ai__completion__0__role="assistant",
            gen_ai__completion__0__content="Done.",
            gen_ai__usage__prompt_tokens=3,
        )
        assert self.said(one) == self.WANTED
        assert only(one).turns[0].injected == ("Be brief.",)
        assert dict(only(one).turns[0].usage) == {"input_tokens": 3}

    def test_calls_and_results_of_older_messages(self) -> None:
        before = [
            {"role": "user", "content": [{"type": "text", "text": "Go."}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "k", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "k", "content": "seen"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "m", "name": "bash", "input": {"command": "ls"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "m", "content": [{"text": "a b"}]}]},
        ]
        session = only(chat(1, 1, 0, 1, before, [{"role": "assistant", "content": "Done."}]))
        assert [(turn.prompt, turn.answer) for turn in session.turns] == self.WANTED
        assert trace(session)[:2] == [
            ("tool_call", "completed", 'look {"at": 1}\nseen'),
            ("command", "completed", "$ ls\na b"),
        ]

    def test_what_programs_put_in_is_injected(self) -> None:
        before = [
            {"role": "developer", "content": "Rule one."},
            user("# AGENTS.md instructions\nRule two."),
            user("Go.<system-reminder>Rule three.</system-reminder>"),
        ]
        turn = only(chat(1, 1, 0, 1, before, [assistant("Done.")])).turns[0]
        assert turn.prompt == "Go."
        assert turn.injected == ("Rule one.", "# AGENTS.md instructions\nRule two.", "Rule three.")

    def test_thoughts_images_and_files(self) -> None:
        before = [{"role": "user", "parts": [{"type": "blob", "modality": "image", "content": "aGVsbG8="}]}]
        after = [
            {
                "role": "assistant",
                "parts": [{"type": "reasoning", "content": "A cat."}, {"type": "text", "content": "It is a cat."}],
            }
        ]
        session = only(chat(1, 1, 0, 1, before, after))
        assert session.turns[0].prompt == "[image]"
        assert [kind for kind, _, _ in trace(session)] == ["reasoning", "agent_message"]

    def test_ids_in_base_64_and_names_in_the_other_spelling(self) -> None:
        one = chat(1, 1, 0, 1, [user("Go.")], [assistant("Done.")])
        other = {
            "trace_id": base64.b64encode(bytes.fromhex(one["traceId"])).decode(),
            "span_id": base64.b64encode(bytes.fromhex(one["spanId"])).decode(),
            "start_time_unix_nano": int(one["startTimeUnixNano"]),
            "end_time_unix_nano": int(one["endTimeUnixNano"]),
            "attributes": one["attributes"],
        }
        theirs = {"resource_spans": [{"scope_spans": [{"spans": [other]}]}]}
        document = json.dumps(theirs)
        ours = only(one, service="")
        assert read_trace_document(document).sessions == (ours,)

    def test_a_run_without_an_id_fits_the_call_of_its_tool(self) -> None:
        call = {"role": "assistant", "parts": [{"type": "tool_call", "name": "look", "arguments": {"at": 1}}]}
        run = span(
            2,
            1,
            2,
            3,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="look",
            gen_ai__tool__call__result="x",
        )
        assert trace(only(chat(1, 1, 0, 1, [user("Go.")], [call]), run)) == [
            ("tool_call", "completed", 'look {"at": 1}\nx')
        ]


class TestLaws:
    SPANS = [
        *conversation(),
        *[one | {"traceId": "c" * 31 + one["traceId"][-1]} for one in conversation("Frontend", "conv-2")],
        chat(50, 9, 3, 4, [user("Alone.")], [assistant("Yes.")]),
        span(51, 9, 1, 2, http__method="GET"),
    ]

    @given(st.randoms(use_true_random=False), st.integers(1, 6))
    @settings(max_examples=60, deadline=None)
    def test_any_order_and_any_split_give_the_same_sessions(self, chance: random.Random, parts: int) -> None:
        shuffled = list(self.SPANS)
        chance.shuffle(shuffled)
        batches: list[list[dict]] = [[] for _ in range(parts)]
        for one in shuffled:
            chance.choice(batches).append(one)

        assert undamaged(read_traces([request(*batch) for batch in batches])) == undamaged(read(*self.SPANS))

    @given(st.lists(st.sampled_from(SPANS), max_size=30))
    @settings(max_examples=40, deadline=None)
    def test_what_comes_twice_counts_once(self, again: list[dict]) -> None:
        doubled = read(*self.SPANS, *again)
        assert undamaged(doubled) == undamaged(read(*self.SPANS))
        assert not doubled.damaged

    @given(st.randoms(use_true_random=False))
    @settings(max_examples=20, deadline=None)
    def test_of_two_spans_with_one_id_the_same_one_is_kept(self, chance: random.Random) -> None:
        spans = [chat(1, 1, 0, 1, [user("Go.")], [assistant(said)]) for said in ("One.", "Two.", "Three.")]
        first = only(*spans).turns[0].answer
        chance.shuffle(spans)
        found = read(*spans)
        assert found.sessions[0].turns[0].answer == first
        assert {line.reason for line in found.damaged} == {"span_id_taken"}


class TestDamage:
    GOOD = chat(1, 1, 0, 1, [user("Go.")], [assistant("Done.")])

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (None, "not_an_object"),
            ({"traceId": "xyz"}, "bad_trace_id"),
            ({"traceId": "0" * 32}, "bad_trace_id"),
            ({"spanId": ["a"]}, "bad_span_id"),
            ({"startTimeUnixNano": "9" * 30}, "bad_time"),
            ({"endTimeUnixNano": -5}, "bad_time"),
            ({"startTimeUnixNano": 1e400}, "bad_time"),
            ({"attributes": 7}, "wrong_shape"),
            ({"attributes": attributes({"gen_ai.input.messages": '[{"role":'})}, "not_json"),
            ({"attributes": attributes({"gen_ai.input.messages": "[3]"})}, "wrong_shape"),
            ({"attributes": attributes({"gen_ai.input.messages": '[{"role":"king"}]'})}, "unknown_role"),
            ({"attributes": attributes({"gen_ai.operation.name": "chat"})}, "no_content"),
            ({"events": [event("x")] * 2_001}, "too_many_events"),
        ],
    )
    def test_a_damaged_span_is_named_and_the_others_come_in(self, change: dict | None, reason: str) -> None:
        bad = None if change is None else chat(2, 2, 5, 6, [user("x")], [assistant("y")]) | change
        found = read(self.GOOD, bad)

        assert [(line.number, line.reason, line.what) for line in found.damaged] == [(2, reason, "span")]
        assert ("Go.", "Done.") in [(turn.prompt, turn.answer) for one in found.sessions for turn in one.turns]

    @pytest.mark.parametrize(
        ("document", "code"),
        [
            (b"", "not_json"),
            (b"{", "not_json"),
            (b'{"resourceSpans": [', "not_json"),
            (b"[]", "unknown_form"),
            (b'{"resourceSpans": 3}', "unknown_form"),
            (b'{"resourceSpans": []}', "no_turns"),
            (b'{"resourceSpans": ' + b"[" * 200 + b"]" * 200 + b"}", "too_deep"),
            (b'{"resourceSpans": ' + b"[" * 200_000, "too_deep"),
            (json.dumps(request(span(1, 1, 0, 1, http__method="GET"))).encode(), "no_turns"),
        ],
    )
    def test_refusals_have_names(self, document: bytes, code: str) -> None:
        with pytest.raises(UnreadableSession) as refused:
            read_trace_document(document)
        assert refused.value.code == code
        assert code in get_args(Refusal)

    def test_too_many_spans(self) -> None:
        with pytest.raises(UnreadableSession) as refused:
            read(*[self.GOOD] * (otlp_spans.SPANS_MAX + 1))
        assert refused.value.code == "too_many_spans"

    @pytest.mark.parametrize("own", [True, False])
    def test_too_many_turns(self, own: bool) -> None:
        said = [piece for number in range(501) for piece in (user(f"q {number}"), assistant("a"))]
        spans = [
            chat(n + 1, n + 1, n, n, said[2 * n : 2 * n + 1], [], gen_ai__conversation__id="c") for n in range(501)
        ]
        with pytest.raises(UnreadableSession) as refused:
            read(*(spans if own else [chat(1, 1, 0, 1, [*said, user("last")], [])]))
        assert refused.value.code == "too_many_turns"

    def test_names_that_are_too_long_or_hold_what_no_database_keeps(self) -> None:
        named = {"gen_ai__agent__name": "a\x00\ud800b" * 200, "gen_ai__conversation__id": "c" * 500 + "\x00\ud800"}
        session = only(chat(1, 1, 0, 1, [user("nul \x00 half \ud800")], [assistant("Done.")], **named))
        other = only(chat(1, 1, 0, 1, [user("x")], [assistant("y")], gen_ai__conversation__id="c" * 501))
        assert len(session.agent) <= 200
        assert len(session.thread_id) <= 200
        assert "\x00" not in session.agent + session.thread_id
        assert session.thread_id != other.thread_id


class TestDocument:
    def test_one_request_on_each_line(self) -> None:
        one, *rest = conversation()
        lines = [json.dumps(request(one)), "{ broken", json.dumps(request(*rest))]
        found = read_document("\n".join(lines).encode())

        assert undamaged(found) == undamaged(read(*conversation()))
        assert [(line.number, line.reason, line.what) for line in found.damaged] == [(2, "not_json", "line")]

    def test_over_many_lines(self) -> None:
        document = json.dumps(request(*conversation()), indent=2)
        assert read_document(document).sessions == read(*conversation()).sessions

    def test_a_session_that_only_speaks_of_traces_is_a_session(self) -> None:
        lines = [
            '{"type":"prompt","text":"What is resourceSpans?"}',
            '{"resourceSpans": []}',
            '{"type":"message","text":"x"}',
        ]
        assert [one.form for one in read_document("\n".join(lines)).sessions] == ["plain"]

    def test_what_was_asked_is_handed_on_to_forms_that_do_not_say(self) -> None:
        lines = ['{"type":"session","thread_id":"t"}', '{"type":"message","text":"x"}']
        assert read_document("\n".join(lines), prompt="Go.").sessions[0].turns[0].prompt == "Go."


# --- anything at all

_NAMES = """
resourceSpans scopeSpans spans resource attributes key value stringValue intValue doubleValue arrayValue kvlistValue
values traceId spanId parentSpanId startTimeUnixNano endTimeUnixNano events name status code message service.name
gen_ai.operation.name chat invoke_agent execute_tool create_agent gen_ai.agent.name gen_ai.agent.id
gen_ai.conversation.id gen_ai.input.messages gen_ai.output.messages gen_ai.system_instructions gen_ai.tool.name
gen_ai.tool.call.id gen_ai.tool.call.arguments gen_ai.tool.call.result gen_ai.usage.input_tokens error.type role parts
type text content tool_call tool_call_response id arguments response user assistant system tool gen_ai.user.message
gen_ai.choice gen_ai.prompt.0.role gen_ai.prompt.0.content gen_ai.prompt.0.tool_calls.0.name reasoning bash command
"""
WORDS = st.sampled_from(_NAMES.split())
TEXTS = st.one_of(WORDS, st.text(), st.sampled_from(["\x00", "\ud800", "1" * 32, "2" * 16, "[]", '[{"role":"user"}]']))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(WORDS, TEXTS), inner, max_size=6)),
    max_leaves=20,
)


def judge(document: bytes | str) -> Traces | None:
    try:
        found = read_trace_document(document)
    except UnreadableSession as refused:
        return None if refused.code in get_args(Refusal) else pytest.fail(f"no known refusal: {refused.code}")
    for session in found.sessions:
        assert session.turns
        assert 0 < len(session.thread_id) <= 200
        assert len(session.agent) <= 200
        for turn in session.turns:
            assert (turn.answer is None) == (turn.error is not None)
            assert all(0 <= count <= 2**53 for count in turn.usage.values())
            for draft in turn.spans:
                assert draft.kind in get_args(SpanKindName)
                assert draft.status in get_args(SpanStatusName)
                json.dumps(draft.data, allow_nan=False)
    return found


@st.composite
def mutated(draw) -> str:
    """Real traces with anything in any place."""
    document = request(*draw(st.permutations(conversation())))
    for _ in range(draw(st.integers(1, 5))):
        _mutate(draw, document)
    return json.dumps(document)


def _mutate(draw, value) -> None:
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        inside = value[key]
        if isinstance(inside, str) and inside.startswith("[") and draw(st.booleans()):
            messages = json.loads(inside)
            _mutate(draw, messages)
            value[key] = json.dumps(messages)
            return
        if not isinstance(inside, dict | list) or not inside or draw(st.integers(0, 9)) == 0:
            value[key] = draw(VALUES)
            return
        value = inside


class TestAnything:
    @given(st.binary(max_size=300))
    @settings(max_examples=100, deadline=None)
    def test_bytes(self, data: bytes) -> None:
        judge(data)

    @given(VALUES)
    @settings(max_examples=200, deadline=None)
    def test_values_in_place_of_the_requests(self, value: object) -> None:
        judge(json.dumps({"resourceSpans": value}))
        judge(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [value]}]}]}))

    @given(st.dictionaries(WORDS, VALUES, max_size=8))
    @settings(max_examples=300, deadline=None)
    def test_values_in_place_of_the_attributes(self, values: dict) -> None:
        pairs = [{"key": name, "value": {"stringValue": value}} for name, value in values.items()]
        judge(json.dumps(request(span(1, 1, 0, 1) | {"attributes": pairs})))
        texts = {name: json.dumps(value) for name, value in values.items()}
        judge(json.dumps(request(span(1, 1, 0, 1) | {"attributes": attributes(texts)})))

    @given(mutated())
    @settings(max_examples=300, deadline=None)
    def test_anything_in_any_place_of_real_traces(self, document: str) -> None:
        judge(document)
