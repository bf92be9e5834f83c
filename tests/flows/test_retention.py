"""Words of finished work go after their time, in batches; what a live note cites stays, and so does the ledger."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from apps.conductor import retention
from apps.conductor.importing import import_sessions
from apps.conductor.pool import embedded_pool
from apps.conductor.retention import prunable, prune
from apps.conductor.story import close_thread, resume, submit
from apps.conductor.sweep import reconcile
from apps.context.models import ContextSnapshot
from apps.ledger import clock
from apps.ledger.selectors import entries, header, logs, verify_log
from apps.memory.models import Flush, Landing, Note, Segment
from apps.memory.services.notes import note_digest
from apps.memory.services.review import reject, revoke
from apps.tasks.models import Attempt, Message, PlanNode, Span, Task
from apps.tasks.services.stop import TextRemoved
from tests.flows.test_importing import plain, recorded
from tests.support.cast import Cast
from tests.support.notes import landed, proposed
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.ledger.chain import Broken
from tikitaka.policy import DEFAULT
from tikitaka.ports import RunEnd

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)
POLICY = dataclasses.replace(DEFAULT, retention_s=int(DAY.total_seconds()))
ANSWER = "The gate is closed at nine."


def worked(cast: Cast, *, spans: int = 2, script: Callable[..., Any] = lambda launch: ANSWER) -> Task:
    """A task that ran, with spans, in a closed thread of work that was distilled."""
    with embedded_pool(runtimes=ScriptedRuntime(script)) as pool:
        task = submit(actor=cast.operator, team=cast.team, prompt="Say when.", plan=[node(1), node(2)]).task
        assert pool.drain(120)
        for attempt in Attempt.objects.filter(task=task):
            add_spans(attempt, spans)
        close_thread(actor=cast.operator, team=cast.team)
        assert pool.drain(120)
    task.refresh_from_db()
    return task


def add_spans(attempt: Attempt, count: int) -> None:
    Span.objects.bulk_create(
        Span(attempt=attempt, seq=seq, kind="reasoning", text="I think.", at=clock.now()) for seq in range(1, count + 1)
    )


def words_left(task: Task) -> dict[str, int]:
    return {
        "spans": Span.objects.filter(attempt__task=task).count(),
        "messages": Message.objects.filter(task=task).exclude(text="").count(),
        "contexts": ContextSnapshot.objects.filter(attempt__task=task).exclude(rendered="").count(),
        "outputs": Attempt.objects.filter(task=task).exclude(output="").count(),
    }


WHOLE = {"spans": 4, "messages": 3, "contexts": 2, "outputs": 2}
NOTHING = dict.fromkeys(WHOLE, 0)


def prune_at(moment: datetime, policy: Any = POLICY, **options: Any) -> dict[str, int]:
    with clock.running_on(lambda: moment):
        return dict(prune(policy=policy, **options))


def later(task: Task) -> datetime:
    assert task.settled_at is not None
    return task.settled_at + DAY


def pruned_entries(cast: Cast) -> list[dict[str, int]]:
    return [header(entry)["facts"] for entry in entries(cast.organization.pk, types=("task.pruned",)).order_by("seq")]


class TestWhatGoes:
    def test_words_go_and_rows_numbers_and_digests_stay(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        numbers = list(Message.objects.order_by("seq").values_list("seq", "author_kind", "agent"))
        shown = list(ContextSnapshot.objects.order_by("pk").values("rendered_digest", "injected_messages"))
        assert words_left(task) == WHOLE

        removed = prune_at(later(task))

        assert removed == {"tasks": 1, "batches": 1, **WHOLE}
        assert words_left(task) == NOTHING
        assert list(Message.objects.order_by("seq").values_list("seq", "author_kind", "agent")) == numbers
        assert list(ContextSnapshot.objects.order_by("pk").values("rendered_digest", "injected_messages")) == shown
        task.refresh_from_db()
        assert (task.prompt, task.status, task.pruned_at, task.pruning) == (
            "Say when.", "completed", later(task), False,
        )  # fmt: skip

    def test_the_ledger_says_so_and_still_verifies(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        before = [entry.header for entry in entries(committed_cast.organization.pk).order_by("seq")]

        prune_at(later(task))

        after = [entry.header for entry in entries(committed_cast.organization.pk).order_by("seq")]
        assert after[: len(before)] == before
        assert pruned_entries(committed_cast) == [{**WHOLE, "retention_s": 86_400}]
        assert all(verify_log(log).valid for log in logs())
        assert not any(isinstance(verify_log(log).result, Broken) for log in logs())

    @pytest.mark.parametrize(("early", "left"), [(timedelta(microseconds=1), WHOLE), (timedelta(0), NOTHING)])
    def test_at_its_age_and_not_a_moment_before(self, committed_cast: Cast, early: timedelta, left) -> None:
        task = worked(committed_cast)
        prune_at(later(task) - early)
        assert words_left(task) == left

    def test_by_default_nothing_goes(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        assert prune_at(later(task) + 3_650 * DAY, DEFAULT) == {}
        assert words_left(task) == WHOLE

    def test_what_a_failed_attempt_said_goes_too(self, committed_cast: Cast) -> None:
        task = worked(committed_cast, script=lambda launch: RunEnd(answer=None, error="bad_answer", detail="why"))
        assert Attempt.objects.filter(task=task).exclude(error_detail="").exists()
        prune_at(later(task))
        assert not Attempt.objects.exclude(error_detail="").exists()
        assert set(Attempt.objects.values_list("error", flat=True)) == {"bad_answer"}


class TestWhatStays:
    @pytest.mark.parametrize(
        ("model", "columns"),
        [
            (Segment, {"status": "open"}),
            (Flush, {"status": "waiting"}),
            (Flush, {"status": "running"}),
            (Flush, {"status": "failed"}),
            (Flush, {"final": False}),
            (Flush, {"nodes": []}),
            (Task, {"status": "running"}),
        ],
    )
    def test_whatever_may_still_be_needed(self, committed_cast: Cast, model, columns: dict[str, Any]) -> None:
        task = worked(committed_cast)
        model.objects.update(**columns)
        assert prune_at(later(task)) == {}
        assert words_left(task) == WHOLE

    def test_while_another_flush_of_the_thread_is_under_way(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        late = {"organization_id": task.organization_id, "ordinal": 2, "final": False, "status": "running"}
        Flush.objects.create(segment_id=task.segment_id, **late)
        assert prune_at(later(task)) == {}

    @pytest.mark.parametrize("by", ["attempt", "span"])
    @pytest.mark.parametrize("status", ["pending", "quarantined", "approved", "active"])
    def test_what_a_live_note_cites(self, committed_cast: Cast, status: str, by: str) -> None:
        task = worked(committed_cast)
        other = worked(committed_cast)
        cited(proposed(committed_cast), task, by)
        Note.objects.update(status=status)

        prune_at(later(other))

        assert words_left(task) == WHOLE
        assert words_left(other) == NOTHING

    def test_until_the_note_is_decided_against(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        note = cited(proposed(committed_cast), task, "both")
        reject(actor=committed_cast.reviewer, note=note, shown_digest=note_digest(note), words="no")

        prune_at(later(task))

        assert words_left(task) == NOTHING
        assert list(note.cited_attempts.all())
        assert not note.cited_spans.exists()

    def test_until_no_file_holds_the_note_any_more(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        note = cited(landed(committed_cast), task, "attempt")
        revoke(actor=committed_cast.reviewer, note=note, words="no longer true")
        prune_at(later(task))
        assert words_left(task) == WHOLE

        Landing.objects.update(status="removed")
        prune_at(later(task))
        assert words_left(task) == NOTHING


def cited(note: Note, task: Task, by: str) -> Note:
    attempt = Attempt.objects.filter(task=task).first()
    assert attempt is not None
    if by != "span":
        note.cited_attempts.add(attempt)
    if by != "attempt":
        note.cited_spans.add(attempt.spans.get(seq=1))
    return note


class TestBatches:
    def test_no_transaction_removes_more_than_its_share(self, committed_cast: Cast) -> None:
        task = worked(committed_cast, spans=600)
        assert prune_at(later(task)) == {"tasks": 1, "batches": 3, **WHOLE, "spans": 1_200}
        assert [facts["spans"] for facts in pruned_entries(committed_cast)] == [500, 500, 200]
        assert [facts["messages"] for facts in pruned_entries(committed_cast)] == [0, 0, 3]

    def test_killed_between_two_batches_it_goes_on(self, committed_cast: Cast, monkeypatch) -> None:
        task = worked(committed_cast, spans=600)
        whole = retention._prune_batch
        calls = []

        def dies(*args: Any) -> Any:
            calls.append(args)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return whole(*args)

        monkeypatch.setattr(retention, "_prune_batch", dies)
        with pytest.raises(KeyboardInterrupt):
            prune_at(later(task))
        assert words_left(task)["spans"] == 700
        task.refresh_from_db()
        assert (task.pruned_at, task.pruning) == (later(task), True)

        # What has begun is finished, also when the policy keeps everything by now.
        prune_at(later(task) + DAY, DEFAULT)

        assert words_left(task) == NOTHING
        task.refresh_from_db()
        assert (task.pruned_at, task.pruning) == (later(task), False)
        assert sum(facts["spans"] for facts in pruned_entries(committed_cast)) == 1_200

    def test_an_exact_batch_leaves_no_empty_entry(self, committed_cast: Cast) -> None:
        task = worked(committed_cast, spans=250)
        Message.objects.update(text="")
        ContextSnapshot.objects.update(rendered="")
        Attempt.objects.update(output="", error_detail="")
        assert prune_at(later(task))["spans"] == 500
        assert len(pruned_entries(committed_cast)) == 1

    def test_one_call_may_be_bounded(self, committed_cast: Cast) -> None:
        first, second = worked(committed_cast), worked(committed_cast)
        assert prune_at(later(second), batches=1)["tasks"] == 1
        assert (words_left(first), words_left(second)) == (NOTHING, WHOLE)

    def test_a_task_that_is_taken_up_again_meanwhile_is_left(self, committed_cast: Cast, monkeypatch) -> None:
        task = worked(committed_cast)
        found = retention._due

        def and_then(until: Any) -> Any:
            due = found(until)
            Task.objects.update(status="running", settled_at=None)
            return due

        monkeypatch.setattr(retention, "_due", and_then)
        assert prune_at(later(task)) == {}
        assert words_left(task) == WHOLE


class TestAfterwards:
    def test_the_pages_say_that_it_was_removed(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        note = cited(proposed(committed_cast), task, "both")
        reject(actor=committed_cast.reviewer, note=note, shown_digest=note_digest(note), words="no")
        client = Client()
        client.force_login(committed_cast.user(committed_cast.owner))
        pages = {
            "live": reverse("console:task", args=[task.pk]),
            "note": reverse("admin:memory_note_change", args=[note.pk]),
            "attempt": reverse("admin:tasks_attempt_change", args=[Attempt.objects.filter(task=task)[0].pk]),
            "snapshot": reverse("admin:context_contextsnapshot_change", args=[ContextSnapshot.objects.all()[0].pk]),
            "task": reverse("admin:tasks_task_change", args=[task.pk]),
        }
        said = {name: client.get(page).content.decode() for name, page in pages.items()}
        assert [name for name, text in said.items() if "Removed after" in text] == []
        assert "I think." in said["live"]

        prune_at(later(task))

        for name, page in pages.items():
            answer = client.get(page)
            assert answer.status_code == 200, name
            assert ("Removed after 1 day." in answer.content.decode()) == (name != "task"), name
        live = client.get(pages["live"]).content.decode()
        assert "Nothing has been said yet." not in live
        assert "Say when." in live

    def test_what_is_gone_cannot_be_resumed(self, committed_cast: Cast) -> None:
        task = worked(committed_cast, script=lambda launch: RunEnd(answer=None, error="bad_answer"))
        client = Client()
        client.force_login(committed_cast.user(committed_cast.owner))
        page = reverse("console:task", args=[task.pk])
        assert ">Resume<" in client.get(page).content.decode()

        prune_at(later(task))

        with pytest.raises(TextRemoved):
            resume(actor=committed_cast.operator, task=task)
        task.refresh_from_db()
        assert task.status == "failed"
        assert not PlanNode.objects.filter(status="queued").exists()
        assert ">Resume<" not in client.get(page).content.decode()

    def test_nor_what_shares_its_thread_of_work(self, committed_cast: Cast) -> None:
        failed = worked(committed_cast, script=lambda launch: RunEnd(answer=None, error="bad_answer"))
        gone = worked(committed_cast)
        Task.objects.filter(pk=gone.pk).update(segment_id=failed.segment_id, pruned_at=clock.now())
        with pytest.raises(TextRemoved):
            resume(actor=committed_cast.operator, task=failed)


class TestImports:
    """A recording that comes again is known, and brings nothing back."""

    def test_the_same_recording_changes_nothing(self, committed_cast: Cast) -> None:
        session = recorded("codex-0.111.0-backend.rollout")
        task = imported(committed_cast, session)
        prune_at(later(task))
        assert words_left(task) == {**NOTHING, "outputs": 1}

        assert not bring_in(committed_cast, session).changed
        assert words_left(task) == {**NOTHING, "outputs": 1}

    def test_another_recording_of_it_brings_nothing_back(self, committed_cast: Cast) -> None:
        task = imported(committed_cast, recorded("codex-0.111.0-backend.exec", prompt="Implement the endpoint."))
        prune_at(later(task))

        bring_in(committed_cast, recorded("codex-0.111.0-backend.rollout"))

        assert words_left(task)["spans"] == 0
        assert words_left(task)["messages"] == 0

    def test_a_turn_that_could_not_be_recognized_without_its_spans_stays(self, committed_cast: Cast) -> None:
        session = plain({"type": "span", "kind": "reasoning", "text": "I think."})
        task = imported(committed_cast, session)
        whole = words_left(task)
        assert whole["spans"] == 1

        prune_at(later(task))

        assert words_left(task) == whole
        assert not bring_in(committed_cast, session).changed


def bring_in(cast: Cast, session: Any) -> Any:
    agent = cast.agents["backend"]
    (one,) = import_sessions(actor=cast.operator, team=cast.team, agent=agent, sessions=[session])
    return one


def imported(cast: Cast, session: Any) -> Task:
    """Brought in and distilled; what was proposed from it is decided against."""
    with embedded_pool() as pool:
        bring_in(cast, session)
        assert pool.drain(120)
        close_thread(actor=cast.operator, team=cast.team)
        assert pool.drain(120)
    Note.objects.update(status="rejected")
    return Task.objects.get()


class TestCommand:
    def called(self, *words: str) -> dict[str, int]:
        out = StringIO()
        call_command("prune", *words, stdout=out)
        return json.loads(out.getvalue())

    def test_a_dry_run_counts_and_changes_nothing(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_POLICY = POLICY
        task = worked(committed_cast)
        with clock.running_on(lambda: later(task)):
            assert self.called("--dry-run") == {"tasks": 1, "deliveries": 0, **WHOLE}
            assert words_left(task) == WHOLE
            assert self.called() == {"tasks": 1, "deliveries": 0, **WHOLE}
            assert self.called() == self.called("--dry-run") == {"tasks": 0, "deliveries": 0, **NOTHING}

    def test_a_dry_run_leaves_out_what_a_late_flush_will_want(self, committed_cast: Cast) -> None:
        task = worked(committed_cast)
        Flush.objects.update(nodes=[])
        with clock.running_on(lambda: later(task)):
            assert prunable(policy=POLICY).total() == 0

    def test_reconcile_does_it(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_POLICY = POLICY
        task = worked(committed_cast)
        with clock.running_on(lambda: later(task)):
            reconcile()
        assert words_left(task) == NOTHING
