"""Traces of OpenTelemetry become tasks, attempts, spans and messages, in whatever parts they arrive."""

from __future__ import annotations

import json
import random
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.accounts.services.authorize import AccessRefused
from apps.conductor.import_rows import UNKNOWN_PROMPT
from apps.conductor.importing import UnknownAgents, import_document, import_traces
from apps.conductor.models import ImportSource
from apps.conductor.pool import embedded_pool
from apps.conductor.story import close_thread
from apps.ledger.models import Entry
from apps.memory.models import Note
from apps.tasks.models import Attempt, Message, PlanNode, Span, Task
from apps.tasks.services.stop import TeamArchived
from tests.core.capture.test_otlp import mutated
from tests.flows.test_importing import everything
from tests.support.cast import Cast
from tests.support.traces import assistant, chat, conversation, gives, request, span, user, wants
from tikitaka.capture.sessions import UnreadableSession
from tikitaka.errors import Forbidden, Invalid, NotFound

CASES = Path(__file__).parents[1] / "cases" / "transcripts"


def bring_in(cast: Cast, *spans: dict, agent: str | None = None, **more):
    given_agent = cast.agents[agent] if agent else None
    document = json.dumps(request(*spans, **more))
    return import_traces(actor=cast.operator, team=cast.team, document=document, agent=given_agent)


def state(agent) -> list[tuple]:
    """What is stored of an agent's work, without ids and without the order in which parts arrived."""
    found = []
    for attempt in Attempt.objects.filter(agent=agent).select_related("task", "node"):
        spans = attempt.spans.order_by("seq")
        assert [one.seq for one in spans] == list(range(1, len(spans) + 1))
        said = Message.objects.filter(task=attempt.task, injected=False).order_by("seq")
        found.append(
            (
                attempt.thread_id,
                attempt.task.prompt,
                attempt.task.status,
                attempt.node.status,
                attempt.status,
                attempt.error,
                attempt.output,
                attempt.usage,
                attempt.started_at,
                attempt.finished_at,
                [(one.kind, one.status, one.text, one.at) for one in spans],
                sorted((one.author_kind, one.text) for one in said),
            )
        )
    return sorted(found, key=lambda row: (row[0], str(row[8])))


class TestOneBatch:
    def test_it_becomes_finished_tasks_of_the_agent_that_it_names(self, cast: Cast) -> None:
        document = bring_in(cast, *conversation())

        (imported,) = document.imported
        assert (imported.form, imported.thread_id, imported.tasks, imported.spans) == ("otlp", "conv-1", 2, 5)
        assert (document.changed, document.damaged) == (True, ())
        one, two = Task.objects.order_by("first_seq")
        assert (one.prompt, one.status, one.plan_source, one.source_id) == (
            "Why do the uploads fail?",
            "completed",
            "import",
            imported.source,
        )
        assert two.prompt == "Set it, please."
        assert set(PlanNode.objects.values_list("agent", "status")) == {(cast.agents["backend"].pk, "completed")}
        attempt = Attempt.objects.get(task=one)
        assert (attempt.output, attempt.usage) == ("The checks need the variable UPLOAD_BUCKET.", {"input_tokens": 60})
        assert list(attempt.spans.order_by("seq").values_list("kind", flat=True)) == [
            "agent_message",
            "command",
            "tool_call",
            "agent_message",
        ]
        assert attempt.spans.get(kind="command").at.isoformat() == "2025-11-30T10:14:41.999999+00:00"

    def test_instructions_are_marked_and_messages_are_numbered_without_gaps(self, cast: Cast) -> None:
        bring_in(cast, *conversation())

        rows = list(Message.objects.order_by("seq").values_list("seq", "author_kind", "injected"))
        assert rows == [
            (1, "person", True),
            (2, "person", False),
            (3, "agent", False),
            (4, "person", False),
            (5, "agent", False),
        ]

    def test_the_ledger_says_in_which_form_it_came(self, cast: Cast) -> None:
        before = set(Entry.objects.values_list("pk", flat=True))
        bring_in(cast, *conversation())

        entries = Entry.objects.exclude(pk__in=before).order_by("seq")
        assert [entry.type for entry in entries] == ["task.submitted", "task.submitted", "import.completed"]
        assert json.loads(entries[2].header)["facts"]["form"] == "otlp"

    def test_nothing_of_a_secret_is_kept(self, cast: Cast) -> None:
        secret = "ghp_" + "".join(random.Random(7).choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMN23456789", k=36))
        asked = [wants(secret, "bash", {"command": f"curl -H 'Authorization: token {secret}'"})]
        bring_in(
            cast,
            chat(
                1,
                1,
                0,
                1,
                [{"role": "system", "content": f"The token is {secret}"}, user(f"Use {secret}")],
                asked,
                gen_ai__agent__name="Backend",
                gen_ai__system_instructions=f"Keep {secret}",
            ),
            span(
                2,
                1,
                2,
                3,
                gen_ai__operation__name="execute_tool",
                gen_ai__agent__name="Backend",
                gen_ai__tool__name="read",
                gen_ai__tool__call__id="k2",
                gen_ai__tool__call__arguments=json.dumps({"of": secret}),
                gen_ai__tool__call__result=f"it is {secret}",
                status={"code": 2, "message": secret},
            ),
            chat(
                3,
                1,
                4,
                5,
                [user(f"Use {secret}"), *asked, gives(secret, {"shown": secret})],
                [
                    {
                        "role": "assistant",
                        "parts": [{"type": "reasoning", "content": secret}, *assistant(f"Used {secret}")["parts"]],
                    }
                ],
                gen_ai__agent__name="Backend",
            ),
            chat(4, 1, 6, 7, [user("Again")], [], gen_ai__agent__name="Backend", error__type=f"{secret} was refused"),
        )

        assert secret not in json.dumps(everything(), default=str)
        assert Task.objects.count() == 2
        assert Span.objects.filter(text__contains="[REDACTED").count() >= 5
        assert Message.objects.get(text__startswith="Used").findings

    def test_hostile_text_is_stored_clean(self, cast: Cast) -> None:
        named = {"gen_ai__agent__name": "Back\x00end", "gen_ai__conversation__id": "thread \x00 \ud800"}
        bring_in(cast, chat(1, 1, 0, 1, [user("nul \x00 half \ud800 end")], [assistant("word " * 20_000)], **named))

        assert "\x00" not in json.dumps(everything(), default=str)
        assert len(Attempt.objects.get().output) == 50_000


class TestParts:
    def test_the_same_batch_twice_changes_nothing(self, cast: Cast) -> None:
        bring_in(cast, *conversation())
        before = everything()

        again = bring_in(cast, *conversation())

        assert not again.changed
        assert everything() == before

    @given(chance=st.randoms(use_true_random=False), parts=st.integers(1, 5))
    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_split_in_any_order_stores_the_same(self, cast: Cast, chance: random.Random, parts: int) -> None:
        spans = conversation(thread=f"conv-{chance.random()}")
        bring_in(cast, *spans, agent="backend")
        chance.shuffle(spans)
        batches: list[list[dict]] = [[] for _ in range(parts)]
        for one in spans:
            chance.choice(batches).append(one)
        batches = [batch for batch in batches if batch]

        for batch in [*batches, chance.choice(batches)]:
            bring_in(cast, *batch, agent="frontend")

        thread = spans[0]["attributes"]
        name = next(pair["value"]["stringValue"] for pair in thread if pair["key"] == "gen_ai.conversation.id")
        whole, in_parts = (
            [row for row in state(cast.agents[agent]) if row[0] == name] for agent in ("backend", "frontend")
        )
        assert in_parts == whole

    def test_tools_that_come_before_the_question_wait_for_it(self, cast: Cast) -> None:
        whole, _, tool, _, other, _, _ = conversation()
        bring_in(cast, tool, other)
        assert (Task.objects.get().prompt, Task.objects.get().status) == (UNKNOWN_PROMPT, "failed")

        bring_in(cast, whole)

        assert (Task.objects.get().prompt, Task.objects.get().status) == ("Why do the uploads fail?", "completed")
        assert list(Span.objects.order_by("seq").values_list("kind", flat=True)) == [
            "command",
            "tool_call",
            "agent_message",
        ]
        before = everything()
        bring_in(cast, tool, other)
        bring_in(cast, whole)
        assert everything() == before

    def test_what_failed_in_one_part_may_be_answered_in_another(self, cast: Cast) -> None:
        named = {"gen_ai__agent__name": "Backend"}
        bring_in(cast, chat(1, 1, 0, 1, [user("Go.")], [], error__type="429", **named))
        assert Attempt.objects.get().error == "bad_answer"

        bring_in(cast, chat(2, 1, 2, 3, [user("Go.")], [assistant("Done.")], **named))

        attempt = Attempt.objects.get()
        assert (attempt.status, attempt.error, attempt.output) == ("completed", "", "Done.")
        assert [one.kind for one in attempt.spans.order_by("seq")] == ["error", "agent_message"]

    @given(data=mutated())
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_what_can_be_read_can_be_stored_and_is_known_the_second_time(self, cast: Cast, data: str) -> None:
        def once():
            return import_traces(actor=cast.operator, team=cast.team, document=data, agent=cast.agents["security"])

        try:
            once()
        except UnreadableSession:
            return
        before = everything()

        assert not once().changed
        assert everything() == before


class TestWhose:
    def test_each_agent_gets_its_own(self, cast: Cast) -> None:
        bring_in(
            cast,
            *conversation("back-END", "c"),
            *[one | {"traceId": "d" * 32} for one in conversation("Frontend", "c")],
        )

        assert {name: len(state(cast.agents[name])) for name in cast.agents} == {
            "security": 0,
            "backend": 2,
            "frontend": 2,
        }

    def test_the_service_stands_for_an_agent_without_a_name(self, cast: Cast) -> None:
        bring_in(cast, chat(1, 1, 0, 1, [user("Go.")], [assistant("Done.")]), service="Security")
        assert Attempt.objects.get().agent == cast.agents["security"]

    def test_unknown_names_are_listed_and_nothing_is_written(self, cast: Cast) -> None:
        before = everything()
        with pytest.raises(UnknownAgents) as refused:
            bring_in(
                cast,
                *conversation(),
                chat(20, 7, 0, 1, [user("a")], [assistant("b")], gen_ai__agent__name="Back end developer"),
                chat(21, 8, 0, 1, [user("a")], [assistant("b")]),
                service="",
            )

        assert (refused.value.code, refused.value.names) == ("unknown_agents", ("", "Back end developer"))
        assert "'Back end developer'" in refused.value.detail
        assert everything() == before

    def test_a_retired_agent_is_not_meant(self, cast: Cast) -> None:
        agent = cast.agents["backend"]
        agent.retired_at = timezone.now()
        agent.save()
        with pytest.raises(UnknownAgents):
            bring_in(cast, *conversation())

    def test_the_agent_that_is_given_gets_everything(self, cast: Cast) -> None:
        bring_in(cast, *conversation("Nobody we know"), agent="security")
        assert len(state(cast.agents["security"])) == 2


class TestAnyDocument:
    def test_a_session_in_another_form_needs_its_agent(self, cast: Cast) -> None:
        data = (CASES / "codex-0.111.0-backend.rollout.jsonl").read_bytes()
        with pytest.raises(Invalid) as refused:
            import_document(actor=cast.operator, team=cast.team, document=data)
        assert list(refused.value.fields) == ["agent"]

        document = import_document(
            actor=cast.operator, team=cast.team, document=data.decode(), agent=cast.agents["backend"]
        )

        assert [one.form for one in document.imported] == ["codex_rollout"]

    def test_traces_are_found_out(self, cast: Cast) -> None:
        data = json.dumps(request(*conversation(), 5)).encode()
        document = import_document(actor=cast.operator, team=cast.team, document=data)
        assert [(one.form, one.tasks) for one in document.imported] == [("otlp", 2)]
        assert [(line.number, line.reason) for line in document.damaged] == [(8, "not_an_object")]

    def test_a_session_is_no_trace(self, cast: Cast) -> None:
        data = (CASES / "codex-0.111.0-backend.rollout.jsonl").read_bytes()
        with pytest.raises(UnreadableSession):
            import_traces(actor=cast.operator, team=cast.team, document=data, agent=cast.agents["backend"])


class TestRefused:
    DOCUMENT = json.dumps(request(*conversation()))

    def test_another_organization(self, cast: Cast) -> None:
        for door in (import_traces, import_document):
            with pytest.raises(Forbidden):
                door(actor=cast.stranger, team=cast.team, document=self.DOCUMENT)
            with pytest.raises(NotFound):
                door(actor=cast.stranger, team=cast.other_team, document=self.DOCUMENT, agent=cast.agents["backend"])
        assert not Task.objects.exists()

    @pytest.mark.parametrize("who", ["reviewer", "auditor"])
    def test_who_may_not_import_is_told_before_anything_is_read(self, cast: Cast, who: str) -> None:
        with pytest.raises(AccessRefused):
            import_traces(actor=getattr(cast, who), team=cast.team, document=b"{ no JSON")

    def test_the_same_thread_of_another_team_is_another_source(self, cast: Cast) -> None:
        bring_in(cast, *conversation())
        import_traces(actor=cast.stranger, team=cast.other_team, document=self.DOCUMENT)

        assert set(ImportSource.objects.values_list("team", "thread_id")) == {
            (cast.team.pk, "conv-1"),
            (cast.other_team.pk, "conv-1"),
        }
        assert Task.objects.filter(team=cast.team).count() == Task.objects.filter(team=cast.other_team).count() == 2

    def test_an_archived_team(self, cast: Cast) -> None:
        cast.team.archived_at = timezone.now()
        cast.team.save()
        with pytest.raises(TeamArchived):
            bring_in(cast, *conversation())


@pytest.mark.django_db(transaction=True)
class TestNotes:
    RULE = "Always run the checks with the variable UPLOAD_BUCKET set, because the settings module needs it."
    OURS = "House rule: never publish on a Friday."

    def test_what_was_said_becomes_a_note_and_what_was_injected_does_not(self, committed_cast: Cast, settings) -> None:
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
            for key, content in (("checks", self.RULE), ("publishing", self.OURS))
        ]
        message = {"role": "assistant", "content": json.dumps({"notes": notes})}
        reply = {"status": 200, "finish_reason": "stop", "message": message}
        folder = Path(settings.TIKITAKA_REPLAY)
        (folder / "extract-1.json").write_text(json.dumps({"when": "UPLOAD_BUCKET", "reply": reply}))
        with embedded_pool() as pool:
            bring_in(committed_cast, *conversation())
            assert pool.drain(120)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)

        assert list(Note.objects.values_list("content", flat=True)) == [self.RULE]


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def run(self, *files, **options) -> tuple[str, str]:
        out, err = StringIO(), StringIO()
        call_command("import_transcript", *map(str, files), stdout=out, stderr=err, **options)
        return out.getvalue(), err.getvalue()

    def test_traces_find_their_agents(self, committed_cast: Cast, tmp_path: Path) -> None:
        file = tmp_path / "traces.json"
        file.write_text(json.dumps(request(*conversation(), 5, *conversation("Security", "conv-2")[:1]), indent=1))
        team = str(committed_cast.team.pk)

        out, err = self.run(file, team=team, user="operator")

        assert out.count("otlp, 2 tasks, 5 spans, 5 messages") == 1
        assert "span 8 is damaged: not_an_object" in err
        out, _ = self.run(file, team=team, user="operator")
        assert out.count("otlp, known already, nothing changed") == out.count("[1/1]")

    def test_unknown_agents_are_named(self, committed_cast: Cast, tmp_path: Path) -> None:
        file = tmp_path / "traces.json"
        file.write_text(json.dumps(request(*conversation("Nobody"))))
        with pytest.raises(CommandError, match="'Nobody'"):
            self.run(file, team=str(committed_cast.team.pk), user="operator")
        assert not Task.objects.exists()

    def test_a_session_without_its_agent_is_refused(self, committed_cast: Cast) -> None:
        with pytest.raises(CommandError, match="agent"):
            self.run(CASES / "codex-0.111.0-backend.exec.jsonl", team=str(committed_cast.team.pk), user="operator")
