"""Distillation: what becomes a note, what does not come back, and what a failing model leads to."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest

from apps.conductor.models import Incident
from apps.conductor.pool import embedded_pool
from apps.conductor.story import close_thread, flush, resume, submit, wake
from apps.conductor.sweep import sweep
from apps.ledger import clock
from apps.ledger.selectors import entries
from apps.memory.models import Flush, Note, Segment
from apps.memory.services.flushes import make_early_flush
from apps.memory.services.notes import note_digest
from apps.memory.services.review import approve
from apps.providers.runtimes import runtime as processes
from apps.tasks.models import Message, PlanNode, Task
from tests.flows.test_promises import extracted, record
from tests.support.cast import Cast
from tests.support.notes import RULE, landed
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tests.support.secrets import github_token
from tikitaka.ports import Launch, ModelReply, RunEnd

pytestmark = pytest.mark.django_db(transaction=True)


def thread(cast: Cast, *, runtime=None, plan=None, close: bool = True) -> Task:
    """One task that ran, and its thread of work closed and distilled."""
    with embedded_pool(runtimes=runtime or ScriptedRuntime()) as pool:
        task = submit(actor=cast.operator, team=cast.team, prompt="Uploads", plan=plan or [node(2)]).task
        assert pool.drain(120)
        if close:
            close_thread(actor=cast.operator, team=cast.team)
            assert pool.drain(120)
    task.refresh_from_db()
    return task


def replies(settings, *notes: dict) -> None:
    settings.TIKITAKA_EXTRACTOR = "replay"
    for path in settings.TIKITAKA_REPLAY.glob("extract*"):
        path.unlink()
    record(settings, "extract", json.dumps({"notes": list(notes)}))


TWO = [node(2, "first"), node(3, "second", after=(1,))]


def failing_second(bad: list[bool]) -> ScriptedRuntime:
    """Its second node fails for as long as `bad` holds something."""

    def act(launch: Launch) -> RunEnd | str:
        return RunEnd(answer=None, error="bad_answer") if bad and "second" in launch.prompt else "The gateway checks."

    return ScriptedRuntime(act)


def all_nodes() -> set[str]:
    return {str(pk) for pk in PlanNode.objects.values_list("pk", flat=True)}


class TestNotes:
    def test_one_bad_note_of_eight_loses_only_itself(self, committed_cast: Cast, settings) -> None:
        good = [extracted(f"Rule {n} about thing {n * 13}.", skillKey=f"key-{n}") for n in range(7)]
        replies(settings, *good[:3], extracted("bad", skillKey="../x"), *good[3:])
        thread(committed_cast)
        assert Note.objects.count() == 7
        assert Flush.objects.get().dropped == [{"note": 4, "reason": "bad_skill_key"}]

    def test_citations_are_resolved_to_rows(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted(RULE, sourceRunIndices=["1", 9, True], sourceSpanIndices=[1]))
        plan = [node(2, "do: think first\ndo: say The gateway checks.")]
        task = thread(committed_cast, plan=plan, runtime=processes)
        note = Note.objects.get()
        assert [a.task_id for a in note.cited_attempts.all()] == [task.pk]
        assert [s.text for s in note.cited_spans.all()] == ["first"]

    def test_exact_and_near_duplicates_do_not_come_back(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted(RULE))
        thread(committed_cast)
        replies(settings, extracted("  " + RULE.upper() + " "), extracted("A new thing entirely: colors are warm."))
        thread(committed_cast)
        assert Note.objects.count() == 2
        assert entries(committed_cast.organization.pk, types=("memory.note.deduplicated",)).count() == 1

    def test_a_possible_update_is_marked_and_never_merged(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted("The release branch is called main and nothing else."))
        thread(committed_cast)
        replies(settings, extracted("The release branch is now called trunk and nothing else."))
        thread(committed_cast)
        old, new = Note.objects.order_by("created_at")
        assert new.possible_update_of == old
        assert "possible_update" in new.review_reasons
        old.refresh_from_db()
        assert old.content == "The release branch is called main and nothing else."

    def test_what_we_injected_ourselves_never_becomes_a_note(self, committed_cast: Cast, settings) -> None:
        agent = committed_cast.agents["backend"]
        agent.instructions = "Always answer in one sentence. Never guess a path."
        agent.save()
        held = landed(committed_cast, "Keep the gateway closed at night.", key="gateway-night")
        Note.objects.filter(pk=held.pk).update(status="revoked")
        replies(settings, extracted("Never guess a path."), extracted("Keep the gateway closed at night."))
        thread(committed_cast)
        assert Note.objects.exclude(pk=held.pk).count() == 0
        assert [item["of"] for item in Flush.objects.get().dropped] == ["injected", "injected"]

    def test_the_model_sees_nothing_unredacted(self, committed_cast: Cast, monkeypatch) -> None:
        secret = github_token()
        asked = []

        class Model:
            name = priced_as = "model"

            def complete(self, request):
                asked.append(request.user)
                return ModelReply(body=None, failure="http_error")

        monkeypatch.setattr("apps.conductor.story.extractor", Model)
        with embedded_pool(runtimes=ScriptedRuntime(lambda launch: f"used {secret}")) as pool:
            submit(actor=committed_cast.operator, team=committed_cast.team, prompt=f"Use {secret}", plan=[node(2)])
            assert pool.drain(120)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)
        assert asked
        assert secret not in asked[0]
        assert "[REDACTED_SECRET]" in asked[0]
        assert secret in Message.objects.get(seq=1).text  # what a person types is delivered as typed


class TestAFailingModel:
    def test_a_timeout_is_timed_out_and_tried_again(self, committed_cast: Cast, settings, monkeypatch) -> None:
        class Slow:
            name = priced_as = "slow"

            def complete(self, request):
                return ModelReply(body=None, failure="timeout", provider="slow")

        monkeypatch.setattr("apps.conductor.story.extractor", Slow)
        thread(committed_cast)
        row = Flush.objects.get()
        assert (row.status, row.reason) == ("timed_out", "timeout")
        monkeypatch.undo()
        replies(settings, extracted(RULE))
        later(sweep)
        row.refresh_from_db()
        assert row.status == "done"
        assert [attempt["outcome"] for attempt in row.attempts] == ["timeout", "accepted"]
        assert Note.objects.count() == 1

    def test_three_counted_attempts_then_an_incident(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_EXTRACTOR = "replay"
        record(settings, "extract", "no")
        thread(committed_cast)
        for minutes in (5, 10, 15, 20):
            later(sweep, minutes)
        row = Flush.objects.get()
        assert row.status == "failed"
        assert len(row.attempts) == 3
        assert Incident.objects.filter(kind="stuck_work", subject=f"flush {row.pk}").exists()
        assert entries(committed_cast.organization.pk, types=("model.called",)).count() == 3

    def test_work_that_always_fails_after_an_accepted_reply_goes_to_a_person(
        self, committed_cast: Cast, settings, monkeypatch
    ) -> None:
        def broken(**options) -> None:
            raise RuntimeError("always")

        replies(settings, extracted(RULE))
        monkeypatch.setattr("apps.memory.services.distil.save_notes", broken)
        thread(committed_cast)
        for minutes in range(10, 90, 10):
            later(sweep, minutes)
        assert Flush.objects.get().status == "failed"
        assert Incident.objects.filter(kind="stuck_work", subject=f"flush {Flush.objects.get().pk}").exists()
        assert entries(committed_cast.organization.pk, types=("model.called",)).count() == 1

    def test_a_resume_after_an_early_flush_covers_everything_anew(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted(RULE))
        runtime = failing_second(bad := [True])
        with embedded_pool(runtimes=runtime) as pool:
            task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="Uploads", plan=TWO).task
            assert pool.drain(120)
            (early,) = make_early_flush(segment=Segment.objects.get())
            flush(early)
            assert Note.objects.count() == 1
            bad.clear()
            resume(actor=committed_cast.operator, task=task)
            assert pool.drain(120)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)
        assert {node for row in Flush.objects.all() for node in row.nodes} == all_nodes()

    def test_a_late_wake_up_after_a_resume_ends_nothing(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted(RULE))
        runtime = failing_second(bad := [True])
        task = thread(committed_cast, runtime=runtime, plan=TWO)
        row = Flush.objects.get()
        resume(actor=committed_cast.operator, task=task)
        flush(row.pk)
        bad.clear()
        with embedded_pool(runtimes=runtime) as pool:
            wake("dispatch", committed_cast.team.pk)
            assert pool.drain(120)
            if Segment.objects.get().status == "open":
                close_thread(actor=committed_cast.operator, team=committed_cast.team)
            sweep()
            assert pool.drain(120)
        assert {node for row in Flush.objects.all() for node in row.nodes} == all_nodes()

    def test_a_person_lets_it_be_tried_again(self, committed_cast: Cast, settings) -> None:
        from apps.conductor.story import retry_failed_flush

        settings.TIKITAKA_EXTRACTOR = "replay"
        record(settings, "extract", "no")
        thread(committed_cast)
        for minutes in (5, 10, 15):
            later(sweep, minutes)
        replies(settings, extracted(RULE))
        row = Flush.objects.select_related("segment__team").get()
        with embedded_pool() as pool:
            retry_failed_flush(actor=committed_cast.operator, flush_row=row)
            assert pool.drain(120)
        assert Note.objects.count() == 1
        assert not Incident.objects.filter(kind="stuck_work", closed_at=None).exists()

    def test_a_model_that_hangs_costs_its_limit_and_not_more(self) -> None:
        import threading

        from apps.providers.language.openai import OpenAiModel
        from tikitaka.ports import ModelRequest

        model = OpenAiModel(url="http://127.0.0.1:9", name="x", key="")
        released = threading.Event()
        model._ask = lambda request: released.wait(30)  # type: ignore[method-assign, assignment, return-value]
        began = time.monotonic()
        reply = model.complete(ModelRequest(purpose="plan", system="", user="", schema={}, timeout_s=1))
        released.set()
        assert reply.failure == "timeout"
        assert time.monotonic() - began < 10


class TestWithoutAModel:
    def test_verbatim_sentences_named_as_such(self, committed_cast: Cast, monkeypatch) -> None:
        monkeypatch.setattr("apps.memory.services.distil.pick", pick_everything)
        runtime = ScriptedRuntime(lambda launch: "ok. Uploads above 25 MB are never accepted by the gateway.")
        thread(committed_cast, runtime=runtime)
        note = Note.objects.get(content__contains="25 MB")
        assert note.source == "sentence"
        assert note.content == "Uploads above 25 MB are never accepted by the gateway."
        assert "without_model" in note.review_reasons
        assert note.cited_attempts.count() == 1
        assert Flush.objects.get().extractor == "sentences"


def pick_everything(lines, vectors, model, *, policy):
    from tikitaka.notes.sentences import Picked
    from tikitaka.routing.words import sentence_spans

    return tuple(
        Picked(message=index, start=a, end=b, text=line.text[a:b], score_bp=9_000)
        for index, line in enumerate(lines)
        for a, b in sentence_spans(line.text)
        if b - a > 10
    )


class TestSegments:
    def test_an_idle_segment_is_closed_and_distilled_by_a_sweep_alone(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted(RULE))
        thread(committed_cast, close=False)
        assert Segment.objects.get().status == "open"
        later(sweep, 31)
        later(sweep, 32)
        assert Segment.objects.get().close_reason == "idle"
        assert Note.objects.count() == 1

    def test_the_ninth_task_opens_a_new_segment(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_EMBEDDER = "off"
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            for number in range(9):
                submit(actor=committed_cast.operator, team=committed_cast.team, prompt=f"part {number}", plan=[node(2)])
            assert pool.drain(120)
        first, second = Segment.objects.order_by("opened_at")
        assert (first.status, first.close_reason) == ("closed", "size_cap")
        assert Task.objects.filter(segment_id=first.pk).count() == 8
        assert Task.objects.filter(segment_id=second.pk).count() == 1

    def test_a_shift_of_topic_closes_and_says_by_which_signal(self, committed_cast: Cast, monkeypatch) -> None:
        from tikitaka.segments.signals import SignalReading

        monkeypatch.setattr(
            "apps.conductor.story.read",
            lambda prompts, prompt, **_: SignalReading(
                name="fitted", value_bp=9_000, threshold_bp=4_200, closes="other" in prompt
            ),
        )
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            for prompt in ("uploads", "uploads again", "an other topic"):
                submit(actor=committed_cast.operator, team=committed_cast.team, prompt=prompt, plan=[node(2)])
                assert pool.drain(120)
        closed = Segment.objects.get(status="closed")
        assert (closed.close_reason, closed.signal, closed.value_bp, closed.threshold_bp) == (
            "topic_shift",
            "fitted",
            9_000,
            4_200,
        )

    def test_a_cancelled_tasks_segment_is_flushed_too(self, committed_cast: Cast, settings) -> None:
        from apps.conductor.story import cancel

        replies(settings, extracted(RULE))
        slow = ScriptedRuntime(seconds=5)
        with embedded_pool(runtimes=slow) as pool:
            task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(2)]).task
            while not slow.prompts:
                time.sleep(0.02)
            cancel(actor=committed_cast.operator, task=Task.objects.select_related("team").get(pk=task.pk))
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)
        row = Flush.objects.get()
        assert (row.status, row.reason) == ("done", "nothing_finished")

    def test_a_long_task_that_drifts_is_distilled_early_and_only_once(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted(RULE))
        words = iter(
            ["upload gateway size", "upload gateway size limit", "gateway upload limit", "violet mountains", "end"]
        )
        runtime = ScriptedRuntime(lambda launch: next(words), seconds=0.3)
        plan = [node(1), node(2, after=(1,)), node(3, after=(2,)), node(1, after=(3,)), node(2, after=(4,))]
        thread(committed_cast, runtime=runtime, plan=plan)
        early, last = Flush.objects.order_by("ordinal")
        assert (early.final, early.status) == (False, "done")
        assert (last.final, last.status) == (True, "done")
        assert not set(early.nodes) & set(last.nodes)
        assert len(early.nodes) + len(last.nodes) == 5


class TestResume:
    def test_automatic_notes_are_taken_back_and_human_decisions_stay(self, committed_cast: Cast, settings) -> None:
        replies(settings, extracted(RULE), extracted("Colors are always warm.", skillKey="colors"))
        failure = RunEnd(answer=None, error="bad_answer")
        broken = ScriptedRuntime(lambda launch: failure if "break" in launch.prompt.split("# Your part")[1] else "ok")
        task = thread(committed_cast, runtime=broken, plan=[node(2, "fine"), node(3, "break")])
        decided = Note.objects.get(skill_key="colors")
        approve(actor=committed_cast.reviewer, note=decided, shown_digest=note_digest(decided))

        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            resume(actor=committed_cast.operator, task=Task.objects.select_related("team").get(pk=task.pk))
            assert pool.drain(120)
            assert Segment.objects.get().status == "open"
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)

        assert Note.objects.get(pk=decided.pk).status in ("approved", "active")
        assert sorted(Note.objects.filter(content=RULE).values_list("status", flat=True)) == ["pending", "revoked"]
        assert entries(committed_cast.organization.pk, types=("memory.note.reset",)).count() == 1
        assert Flush.objects.get().status == "done"
        assert len(Flush.objects.get().nodes) == 2


def test_a_waiting_flush_waits_for_the_tasks_of_its_segment(committed_cast: Cast, settings) -> None:
    """A resumed task runs while another segment is open: the old segment stays closed and must not be flushed yet."""
    replies(settings, extracted(RULE))
    failing = ScriptedRuntime(lambda launch: RunEnd(answer=None, error="bad_answer"))
    task = thread(committed_cast, runtime=failing)
    thread(committed_cast, close=False)
    slow = ScriptedRuntime(seconds=1.5)
    with embedded_pool(runtimes=slow) as pool:
        resume(actor=committed_cast.operator, task=Task.objects.select_related("team").get(pk=task.pk))
        while not slow.prompts:
            time.sleep(0.02)
        sweep()
        time.sleep(0.5)
        assert Flush.objects.get(segment_id=task.segment_id).status == "waiting"
        assert pool.drain(120)
    assert Flush.objects.get(segment_id=task.segment_id).status == "done"
    assert Note.objects.count() == 1


def later(work, minutes: int = 5) -> None:
    moment = datetime.now(UTC) + timedelta(minutes=minutes)
    with clock.running_on(lambda: moment), embedded_pool(runtimes=ScriptedRuntime()) as pool:
        work()
        assert pool.drain(120)
