"""Sessions recorded elsewhere become tasks, attempts, spans and messages, once; the pipeline makes notes of them."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.conductor.import_rows import UNKNOWN_PROMPT
from apps.conductor.importing import import_sessions
from apps.conductor.models import ImportSource, ToldTurn
from apps.conductor.pool import embedded_pool
from apps.conductor.story import close_thread
from apps.conductor.sweep import reconcile
from apps.ledger.models import Entry
from apps.memory.models import Flush, Note, Recipient
from apps.tasks.models import Attempt, Message, PlanNode, Span, Task
from apps.tasks.services.stop import TeamArchived
from tests.core.capture.test_fuzz import mutated
from tests.support.cast import Cast
from tikitaka.capture.events import SpanDraft
from tikitaka.capture.sessions import ImportedSession, UnreadableSession, decode_lines, read_session
from tikitaka.capture.turns import ImportedTurn
from tikitaka.errors import Forbidden, NotFound

CASES = Path(__file__).parents[1] / "cases" / "transcripts"
PAIRS = [
    ("codex-0.111.0-security.exec", "codex-0.111.0-security.rollout"),
    ("codex-0.111.0-backend.exec", "codex-0.111.0-backend.rollout"),
    ("codex-0.111.0-frontend.exec", "codex-0.111.0-frontend.rollout"),
    ("claude-2.1.197-docs.stream", "claude-2.1.197-docs.project"),
]
BOTH_ORDERS = [*PAIRS, *[(second, first) for first, second in PAIRS]]


def recorded(name: str, **more):
    return read_session(decode_lines((CASES / f"{name}.jsonl").read_bytes()), **more)


def plain(*objects: dict, thread: str = "thread-1"):
    return read_session([json.dumps(o) for o in ({"type": "session", "thread_id": thread}, *objects)])


def bring_in(cast: Cast, *sessions, agent: str = "backend"):
    return import_sessions(actor=cast.operator, team=cast.team, agent=cast.agents[agent], sessions=sessions)


def everything() -> dict[str, list]:
    """All that an import could touch, as values."""
    tables = (ImportSource, ToldTurn, Task, PlanNode, Attempt, Span, Message, Entry)
    return {table.__name__: list(table.objects.order_by("pk").values()) for table in tables}


def trace(attempt: Attempt) -> list[tuple[str, str]]:
    return list(attempt.spans.order_by("seq").values_list("kind", "status"))


class TestOneSession:
    def test_a_session_file_becomes_a_finished_task(self, cast: Cast) -> None:
        (imported,) = bring_in(cast, recorded("codex-0.111.0-backend.rollout"))

        task = Task.objects.get()
        assert (task.status, task.plan_source, task.source_id) == ("completed", "import", imported.source)
        assert task.prompt == "Implement the upload endpoint and keep the size limit from the settings."
        assert task.submitted_by == cast.user(cast.operator)
        assert task.submitted_at.isoformat() == "2026-11-29T21:49:51.011000+00:00"
        node = task.nodes.get()
        assert (node.index, node.agent, node.work_area, node.writes) == (1, cast.agents["backend"], "general", False)
        assert (node.status, node.attempts, node.instruction) == ("completed", 1, task.prompt)
        attempt = Attempt.objects.get()
        assert (attempt.number, attempt.fence, attempt.status, attempt.node) == (1, 0, "completed", node)
        assert attempt.thread_id == "01a22949-2bef-7332-886a-b7f52d4f414b"
        assert attempt.usage["input_tokens"] == 406
        assert attempt.output.startswith("Added create_upload behind POST")
        assert trace(attempt) == [
            ("command", "completed"),
            ("command", "failed"),
            ("file_change", "failed"),
            ("agent_message", "completed"),
        ]
        assert attempt.spans.get(seq=2).data["exit_code"] == 3
        assert attempt.spans.get(seq=1).at.isoformat() == "2026-11-29T21:49:51.052000+00:00"

    def test_messages_are_numbered_without_gaps_and_surroundings_are_marked(self, cast: Cast) -> None:
        bring_in(cast, recorded("codex-0.111.0-backend.rollout"))

        rows = list(Message.objects.order_by("seq").values_list("seq", "author_kind", "injected"))
        assert rows == [*[(n, "person", True) for n in (1, 2, 3, 4)], (5, "person", False), (6, "agent", False)]
        assert Task.objects.get().first_seq == 5
        assert Message.objects.get(seq=6).attempt == Attempt.objects.get()

    def test_each_user_message_is_a_task_and_a_failed_turn_fails(self, cast: Cast) -> None:
        bring_in(
            cast,
            plain(
                {"type": "prompt", "text": "First"},
                {"type": "message", "text": "Done."},
                {"type": "prompt", "text": "Second"},
                {"type": "span", "kind": "command", "command": "make", "status": "failed"},
                {"type": "end", "status": "interrupted", "detail": "stopped by the person"},
            ),
        )

        assert list(Task.objects.order_by("first_seq").values_list("prompt", "status")) == [
            ("First", "completed"),
            ("Second", "failed"),
        ]
        assert list(PlanNode.objects.order_by("task__first_seq").values_list("status", flat=True)) == [
            "completed",
            "failed",
        ]
        assert list(Attempt.objects.order_by("task__first_seq").values_list("status", "error", "error_detail")) == [
            ("completed", "", ""),
            ("interrupted", "interrupted", "stopped by the person"),
        ]

    def test_nothing_of_a_secret_is_kept(self, cast: Cast) -> None:
        secret = "ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d"
        bring_in(
            cast,
            plain(
                {"type": "injected", "text": f"The token is {secret}"},
                {"type": "prompt", "text": f"Use {secret}"},
                {"type": "span", "kind": "command", "command": f"curl -H 'Authorization: token {secret}'"},
                {"type": "span", "kind": "tool_call", "text": f"read {secret}", "tool": f"read {secret}"},
                {"type": "span", "kind": "file_change", "changes": [{"path": f"/srv/{secret}", "kind": "add"}]},
                {"type": "message", "text": f"Used {secret}"},
                {"type": "prompt", "text": "Again"},
                {"type": "end", "status": "failed", "detail": f"{secret} was refused"},
            ),
        )

        assert secret not in json.dumps(everything(), default=str)
        assert Message.objects.filter(text__contains="[REDACTED").count() == 3
        assert Message.objects.get(text__startswith="Used").findings

    def test_hostile_text_is_stored_clean(self, cast: Cast) -> None:
        long = "word " * 20_000
        bring_in(
            cast,
            plain(
                {"type": "prompt", "text": "nul \x00 half \ud800 end"},
                {"type": "span", "kind": "command", "command": "echo \x00\udfff", "text": long},
                {"type": "message", "text": long},
                thread="thread \x00 \ud800",
            ),
        )

        assert Task.objects.get().prompt in ("nul \ufffd half \ufffd end", "nul \ufffd half ? end")
        assert "\x00" not in json.dumps(everything(), default=str)
        assert len(Span.objects.get(kind="command").text) == 4_000
        assert len(Attempt.objects.get().output) == 50_000


class TestTheSameSessionAgain:
    @pytest.mark.parametrize("name", [name for pair in PAIRS for name in pair])
    def test_importing_twice_changes_nothing(self, cast: Cast, name: str) -> None:
        bring_in(cast, recorded(name))
        before = everything()

        (again,) = bring_in(cast, recorded(name))

        assert not again.changed
        assert everything() == before

    @pytest.mark.parametrize(("first", "second"), BOTH_ORDERS)
    def test_output_and_session_file_are_one_import(self, cast: Cast, first: str, second: str) -> None:
        bring_in(cast, recorded(first))
        bring_in(cast, recorded(second))

        assert ImportSource.objects.count() == Task.objects.count() == Attempt.objects.count() == 1
        assert Task.objects.get().prompt != UNKNOWN_PROMPT
        assert PlanNode.objects.get().instruction == Task.objects.get().prompt
        spoken = Message.objects.filter(injected=False).order_by("seq")
        assert [m.author_kind for m in spoken] == ["person", "agent"]
        assert spoken[0].text == Task.objects.get().prompt
        seqs = list(Message.objects.order_by("seq").values_list("seq", flat=True))
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(ImportSource.objects.get().forms) == 2
        before = everything()
        bring_in(cast, recorded(first), recorded(second))
        assert everything() == before

    @pytest.mark.parametrize(("first", "second"), BOTH_ORDERS)
    def test_both_orders_give_the_same_trace_at_the_recorded_times(self, cast: Cast, first: str, second: str) -> None:
        bring_in(cast, recorded(first), agent="backend")
        bring_in(cast, recorded(second), agent="backend")
        bring_in(cast, recorded(second), agent="frontend")
        bring_in(cast, recorded(first), agent="frontend")

        one, other = Attempt.objects.order_by("task__first_seq")
        assert sorted(trace(one)) == sorted(trace(other))
        assert trace(one)[-1] == trace(other)[-1] == ("agent_message", "completed")
        assert one.started_at == other.started_at
        assert [s.at.year for s in one.spans.filter(kind="command")] == [2026] * one.spans.filter(
            kind="command"
        ).count()
        assert list(one.spans.order_by("seq").values_list("seq", flat=True)) == list(range(1, one.spans.count() + 1))

    def test_what_broke_off_is_completed_by_the_second_recording(self, cast: Cast) -> None:
        lines = (CASES / "codex-0.111.0-backend.exec.jsonl").read_text().splitlines()[:4]
        bring_in(cast, read_session(lines))
        assert (Task.objects.get().status, Attempt.objects.get().error) == ("failed", "interrupted")
        assert Span.objects.get(kind="command").status == "started"

        bring_in(cast, recorded("codex-0.111.0-backend.rollout"))

        attempt = Attempt.objects.get()
        assert (Task.objects.get().status, attempt.status, attempt.error) == ("completed", "completed", "")
        assert PlanNode.objects.get().status == "completed"
        assert attempt.output.startswith("Added create_upload")
        assert [status for kind, status in trace(attempt) if kind == "command"] == ["completed", "failed"]

    def test_the_outputs_of_a_resumed_session_are_its_parts(self, cast: Cast) -> None:
        def part(answer: str):
            return read_session(
                [
                    json.dumps({"type": "thread.started", "thread_id": "t"}),
                    json.dumps({"type": "turn.started"}),
                    json.dumps(
                        {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": answer}}
                    ),
                    json.dumps({"type": "turn.completed", "usage": {}}),
                ]
            )

        bring_in(cast, part("one"), part("two"), part("one"))

        assert list(Attempt.objects.order_by("task__first_seq").values_list("output", flat=True)) == ["one", "two"]
        assert ImportSource.objects.count() == 1

    def test_the_same_thread_of_another_agent_is_another_source(self, cast: Cast) -> None:
        session = recorded("codex-0.111.0-backend.rollout")
        bring_in(cast, session, agent="backend")
        bring_in(cast, session, agent="security")

        assert ImportSource.objects.count() == Task.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_gap_that_is_filled_after_the_flush_is_distilled_too(committed_cast: Cast) -> None:
    began = {"type": "prompt", "text": "Uploads"}
    said = {"type": "message", "text": "The gateway must always check the size of every upload."}
    with embedded_pool() as pool:
        bring_in(committed_cast, plain(began, {"type": "end", "status": "interrupted"}))
        assert pool.drain(120)
        close_thread(actor=committed_cast.operator, team=committed_cast.team)
        assert pool.drain(120)
        bring_in(committed_cast, plain(began, said))
        assert pool.drain(120)
    (node,) = PlanNode.objects.all()
    assert node.status == "completed"
    assert [row.nodes for row in Flush.objects.order_by("ordinal")] == [[], [str(node.pk)]]


@pytest.mark.django_db(transaction=True)
def test_a_gap_filled_just_before_a_kill_is_found_by_reconciling(committed_cast: Cast) -> None:
    began = {"type": "prompt", "text": "Uploads"}
    said = {"type": "message", "text": "The gateway must always check the size of every upload."}
    with embedded_pool() as pool:
        bring_in(committed_cast, plain(began, {"type": "end", "status": "interrupted"}))
        assert pool.drain(120)
        close_thread(actor=committed_cast.operator, team=committed_cast.team)
        assert pool.drain(120)
    bring_in(committed_cast, plain(began, said))  # nobody is woken: as after a kill

    with embedded_pool() as pool:
        reconcile()
        assert pool.drain(120)

    (node,) = PlanNode.objects.all()
    assert [row.nodes for row in Flush.objects.order_by("ordinal")] == [[], [str(node.pk)]]


class TestAnySession:
    @given(data=mutated())
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_what_can_be_read_can_be_stored_and_is_known_the_second_time(self, cast: Cast, data: bytes) -> None:
        try:
            session = read_session(decode_lines(data))
        except UnreadableSession:
            return
        bring_in(cast, session)  # what the examples before told of this conversation is there too
        before = everything()

        (again,) = bring_in(cast, session)

        assert not again.changed
        assert everything() == before


TOLD_TIMES = st.none() | st.datetimes(
    datetime(2026, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@st.composite
def told_turns(draw: st.DrawFn) -> ImportedTurn:
    """Of few words, so that recordings agree, lack and contradict."""
    return ImportedTurn(
        prompt=draw(st.sampled_from([None, "Ask", "Ask more"])),
        injected=tuple(draw(st.lists(st.sampled_from(["Surroundings", "Rules"]), max_size=2))),
        answer=draw(st.sampled_from([None, "Done.", "Failed."])),
        spans=tuple(
            SpanDraft(kind="command", text=name, status=status, data={"command": name}, at=at)
            for name, status, at in draw(
                st.lists(
                    st.tuples(st.sampled_from("abc"), st.sampled_from(["started", "completed", "failed"]), TOLD_TIMES),
                    max_size=4,
                )
            )
        ),
        started_at=draw(TOLD_TIMES),
        ended_at=draw(TOLD_TIMES),
        usage=draw(st.sampled_from([{}, {"input_tokens": 3}, {"input_tokens": 5}])),
        error=draw(st.sampled_from([None, "interrupted", "no_answer"])),
        detail="",
    )


@st.composite
def recordings(draw: st.DrawFn) -> ImportedSession:
    """Of one conversation."""
    return ImportedSession(
        form=draw(st.sampled_from(["claude_stream", "claude_project", "otlp"])),
        thread_id="one",
        thread_named=True,
        turns=tuple(draw(st.lists(told_turns(), min_size=1, max_size=4))),
        damaged=(),
    )


class TestRecordingsThatContradict:
    @given(told=st.lists(recordings(), min_size=2, max_size=4))
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_each_is_known_once_it_was_brought_in_whatever_came_before_and_after(
        self, cast: Cast, told: list[ImportedSession]
    ) -> None:
        with transaction.atomic():
            for session in told:
                bring_in(cast, session)
                before = everything()
                (again,) = bring_in(cast, session)
                assert not again.changed
                assert everything() == before
            before = everything()
            for session in told:
                (again,) = bring_in(cast, session)
                assert not again.changed
            assert everything() == before
            transaction.set_rollback(True)

    def test_a_recording_that_has_grown_adds_only_what_is_new(self, cast: Cast) -> None:
        asked = {"type": "prompt", "text": "Ask"}
        first = [asked, {"type": "span", "kind": "command", "command": "make"}, {"type": "message", "text": "Done."}]
        bring_in(cast, plain(*first))
        bring_in(cast, plain(asked, {"type": "message", "text": "Done."}, asked, {"type": "message", "text": "Other."}))
        before = everything()

        (grown,) = bring_in(cast, plain(*first, {"type": "prompt", "text": "Next"}))

        assert (grown.tasks, grown.spans, grown.filled) == (1, 0, 0)
        assert [row for row in everything()["Attempt"] if row in before["Attempt"]] == before["Attempt"]

    def test_an_answer_that_came_later_belongs_to_the_first_of_two_like_prompts(self, cast: Cast) -> None:
        asked = {"type": "prompt", "text": "Go on"}
        work = {"type": "span", "kind": "command", "command": "make"}
        bring_in(cast, plain(asked, work))
        bring_in(cast, plain(asked, work, {"type": "message", "text": "First."}, asked, work))
        bring_in(
            cast,
            plain(
                asked, work, {"type": "message", "text": "First."}, asked, work, {"type": "message", "text": "Second."}
            ),
        )

        attempts = Attempt.objects.order_by("task__first_seq")
        assert list(attempts.values_list("output", flat=True)) == ["First.", "Second."]

    def test_two_turns_that_are_told_alike_are_two(self, cast: Cast) -> None:
        alike = [{"type": "prompt", "text": "Go on"}, {"type": "message", "text": "Done."}]
        bring_in(cast, plain(*alike, *alike))
        assert Task.objects.count() == 2

        (grown,) = bring_in(cast, plain(*alike, *alike, *alike))

        assert (grown.tasks, Task.objects.count()) == (1, 3)


class TestLedger:
    def test_an_import_is_one_entry_beside_its_tasks(self, cast: Cast) -> None:
        before = set(Entry.objects.values_list("pk", flat=True))
        bring_in(cast, recorded("codex-0.111.0-backend.rollout"))

        entries = Entry.objects.exclude(pk__in=before).order_by("seq")
        assert [entry.type for entry in entries] == ["task.submitted", "import.completed"]
        facts = json.loads(entries[1].header)["facts"]
        assert facts | {"form": "codex_rollout", "tasks": 1, "spans": 4, "messages": 6, "damaged_lines": 0} == facts


class TestRefused:
    def test_another_organization(self, cast: Cast) -> None:
        session = recorded("codex-0.111.0-backend.rollout")
        with pytest.raises(Forbidden):
            import_sessions(actor=cast.stranger, team=cast.team, agent=cast.agents["backend"], sessions=[session])
        with pytest.raises(NotFound):
            import_sessions(actor=cast.stranger, team=cast.other_team, agent=cast.agents["backend"], sessions=[session])
        assert not Task.objects.exists()

    @pytest.mark.parametrize("who", ["reviewer", "auditor"])
    def test_who_may_not_import(self, cast: Cast, who: str) -> None:
        with pytest.raises(Forbidden):
            import_sessions(
                actor=getattr(cast, who),
                team=cast.team,
                agent=cast.agents["backend"],
                sessions=[recorded("codex-0.111.0-backend.rollout")],
            )
        assert not Task.objects.exists()

    def test_an_archived_team(self, cast: Cast) -> None:
        from django.utils import timezone

        cast.team.archived_at = timezone.now()
        cast.team.save()
        with pytest.raises(TeamArchived):
            bring_in(cast, recorded("codex-0.111.0-backend.rollout"))


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    @pytest.mark.parametrize("second", ["codex-0.111.0-backend.rollout", "codex-0.111.0-backend.exec"])
    def test_two_imports_of_one_session_are_one(self, committed_cast: Cast, second: str) -> None:
        names = ["codex-0.111.0-backend.rollout", second] * 3
        gate, broken = threading.Barrier(len(names)), []

        def work(name: str) -> None:
            try:
                session = recorded(name)
                gate.wait(60)
                bring_in(committed_cast, session)
            except Exception as error:  # noqa: BLE001 whatever broke is shown below
                broken.append(error)
            finally:
                connections.close_all()

        threads = [threading.Thread(target=work, args=(name,)) for name in names]
        [thread.start() for thread in threads]
        [thread.join(120) for thread in threads]

        assert not broken
        assert ImportSource.objects.count() == Task.objects.count() == Attempt.objects.count() == 1
        seqs = list(Message.objects.order_by("seq").values_list("seq", flat=True))
        assert seqs == list(range(1, 7))


@pytest.mark.django_db(transaction=True)
class TestNotes:
    RULE = "Always run the checks with the variable UPLOAD_BUCKET set, because the settings module needs it."
    OURS = "Never commit generated files to the repository."

    def session(self, *, ours: str = "injected"):
        return plain(
            {"type": ours, "text": f"# Instructions\n\n{self.OURS}"},
            {"type": "prompt", "text": "Build the upload endpoint."},
            {"type": "message", "text": f"{self.RULE} {self.OURS}"},
        )

    @pytest.mark.encoder
    def test_what_nobody_injected_does_become_a_note(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_EMBEDDER = "sbert"
        with embedded_pool() as pool:
            bring_in(committed_cast, self.session(ours="unknown type"))
            assert pool.drain(120)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)

        assert any("generated files" in content for content in Note.objects.values_list("content", flat=True))

    @pytest.mark.encoder
    def test_notes_come_from_what_was_said_and_never_from_what_was_injected(self, committed_cast, settings) -> None:
        settings.TIKITAKA_EMBEDDER = "sbert"
        cast = committed_cast
        with embedded_pool() as pool:
            bring_in(cast, self.session())
            assert pool.drain(120)
            close_thread(actor=cast.operator, team=cast.team)
            assert pool.drain(120)

        contents = list(Note.objects.values_list("content", flat=True))
        assert any("UPLOAD_BUCKET" in content for content in contents)
        assert not any("generated files" in content for content in contents)
        candidates = Recipient.objects.filter(note__in=Note.objects.all()).exclude(reason="not_participant")
        assert set(candidates.values_list("agent_id", flat=True)) == {agent.pk for agent in cast.agents.values()}

    def test_a_model_that_repeats_what_was_injected_makes_no_note(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_EXTRACTOR = "replay"
        notes = [
            {
                "content": content,
                "description": "A rule",
                "skillKey": key,
                "severity": "normal",
                "rationale": "",
                "sourceRunIndices": [1],
                "sourceSpanIndices": [1],
            }
            for key, content in (("checks", self.RULE), ("commits", self.OURS))
        ]
        reply = {
            "status": 200,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": json.dumps({"notes": notes})},
        }
        folder = Path(settings.TIKITAKA_REPLAY)
        (folder / "extract-1.json").write_text(json.dumps({"when": "upload endpoint", "reply": reply}))
        with embedded_pool() as pool:
            bring_in(committed_cast, self.session())
            assert pool.drain(120)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)

        assert list(Note.objects.values_list("content", flat=True)) == [self.RULE]


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def run(self, *files, **options) -> tuple[str, str]:
        out, err = StringIO(), StringIO()
        given = {"team": "Core", "agent": "Backend", "user": "operator"} | options
        call_command("import_transcript", *map(str, files), stdout=out, stderr=err, **given)
        return out.getvalue(), err.getvalue()

    def test_it_says_what_came_in_and_assigns_it(self, committed_cast: Cast) -> None:
        out, err = self.run(
            CASES / "codex-0.111.0-backend.exec.jsonl",
            CASES / "codex-0.111.0-backend.rollout.jsonl",
            team=str(committed_cast.team.pk),
            close=True,
        )

        assert "codex_exec, 1 tasks, 4 spans, 2 messages" in out
        assert "codex_rollout, 0 tasks, 1 spans, 4 messages" in out
        assert "The thread of work is closed; it gave" in out
        assert not err
        assert Task.objects.get().segment_id is not None
        assert ImportSource.objects.count() == 1

    def test_every_damaged_line_is_named_and_the_rest_comes_in(self, committed_cast: Cast, tmp_path: Path) -> None:
        lines = (CASES / "codex-0.111.0-backend.exec.jsonl").read_bytes().splitlines()
        lines[4] = lines[4][:50]
        lines.insert(2, b"\x00\xff garbage")
        file = tmp_path / "damaged.jsonl"
        file.write_bytes(b"\n".join(lines))

        _, err = self.run(file, team=str(committed_cast.team.pk), prompt="Build it")

        assert "line 3 is damaged" in err
        assert "line 6 is damaged: not_json" in err
        assert Task.objects.get().prompt == "Build it"
        assert trace(Attempt.objects.get()) == [
            ("error", "failed"),
            ("command", "started"),
            ("command", "failed"),
            ("agent_message", "completed"),
        ]
        assert [entry["line"] for entry in ImportSource.objects.get().damaged_lines] == [3, 6]

    def test_a_file_that_cannot_be_read_fails_the_command_and_stops_no_other(self, committed_cast, tmp_path) -> None:
        (tmp_path / "note.txt").write_text("Dear diary")
        with pytest.raises(CommandError) as refused:
            self.run(
                tmp_path / "absent.jsonl",
                tmp_path / "note.txt",
                CASES / "codex-0.111.0-backend.rollout.jsonl",
                team=str(committed_cast.team.pk),
            )

        assert refused.value.returncode == 1
        assert "2 of 3 files" in str(refused.value)
        assert Task.objects.count() == 1

    @pytest.mark.parametrize(
        ("options", "argument"),
        [
            ({"team": "Nowhere"}, "--team"),
            ({"team": "Core"}, "--team"),
            ({"agent": "Nobody"}, "--agent"),
            ({"user": "nobody"}, "--user"),
            ({"user": None}, "--user"),
            ({"user": "stranger"}, "--team"),
            ({"user": "auditor"}, "--team"),
            ({"prompt": "\x00"}, "--prompt"),
        ],
    )
    def test_errors_name_the_argument(self, committed_cast: Cast, options, argument) -> None:
        given = {"team": str(committed_cast.team.pk)} | options
        with pytest.raises(CommandError, match=argument):
            self.run(CASES / "codex-0.111.0-backend.rollout.jsonl", **given)
        assert not Task.objects.exists()

    def test_the_only_person_who_may_import_needs_no_naming(self, committed_cast: Cast) -> None:
        self.run(
            CASES / "codex-0.111.0-backend.rollout.jsonl",
            team=str(committed_cast.other_team.pk),
            user=None,
        )
        assert Task.objects.get().submitted_by_id == committed_cast.stranger.id
