"""manage.py doctor: each thing that can be stuck is said, with its reason and what to do, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from apps.audit.doctor import installation, work
from apps.audit.doctor.diagnosis import Diagnosis, lasting, some
from apps.audit.doctor.examine import examine
from apps.audit.metrics.figures import Stage, figures
from apps.conductor.incidents import open_incident
from apps.conductor.models import IncidentKind, LogCheck
from apps.conductor.sweep import reconcile
from apps.ledger import clock, triggers
from apps.memory.models import Flush, Note, ReviewItem, Segment
from apps.tasks.models import Budget
from tests.doors.conftest import attempt_of
from tests.doors.test_metrics import ago, lease, queued, running
from tests.support.cast import Cast
from tests.support.embedded import Installation
from tests.support.notes import approved, proposed
from tikitaka.policy import DEFAULT
from tikitaka.scheduling.ready import Hold

pytestmark = pytest.mark.django_db


@pytest.fixture
def well(cast: Cast) -> Cast:
    """An installation in which nothing is stuck."""
    reconcile()
    assert examine() == []
    return cast


def only(found: list[Diagnosis] | Iterator[Diagnosis]) -> Diagnosis:
    """The one diagnosis, complete sentences in every part of it."""
    (diagnosis,) = list(found)
    for part in (diagnosis.what, diagnosis.why, diagnosis.do):
        assert part[0].isalnum()
        assert part.endswith(".")
    return diagnosis


class TestTheCommand:
    def test_nothing_is_stuck(self, well: Cast) -> None:
        out = StringIO()
        call_command("doctor", stdout=out)
        assert out.getvalue() == "Nothing needs a person.\n"

    def test_what_is_stuck_is_said_and_the_exit_code_is_1(self, well: Cast) -> None:
        open_incident(organization=well.organization.pk, team=None, kind=IncidentKind.DRIFT, subject="x")
        out = StringIO()
        with pytest.raises(CommandError, match="1 thing to be looked at") as refused:
            call_command("doctor", stdout=out)
        assert refused.value.returncode == 1
        assert "1 incident open: drift.\n  Why: " in out.getvalue()
        assert "Nothing needs" not in out.getvalue()

    def test_one_object(self, well: Cast) -> None:
        open_incident(organization=well.organization.pk, team=None, kind=IncidentKind.DRIFT, subject="x")
        out = StringIO()
        with pytest.raises(CommandError):
            call_command("doctor", json=True, stdout=out)
        told = json.loads(out.getvalue())
        assert told["needs_person"] is True
        assert [set(diagnosis) for diagnosis in told["diagnoses"]] == [{"what", "why", "do", "needs_person"}]

    def test_what_passes_by_itself_is_said_and_needs_nobody(self, well: Cast) -> None:
        task = running(well, minutes=1)
        attempt_of(task, well.agents["backend"], 1)
        queued(task, well.agents["frontend"], 2, after=(1,))
        out = StringIO()
        call_command("doctor", stdout=out)
        assert "1 queued node not started yet (dependency)." in out.getvalue()
        assert out.getvalue().endswith("Nothing needs a person.\n")

    def test_where_there_is_no_database_it_says_so_and_makes_none(self, tmp_path: Path) -> None:
        here = Installation(folder=tmp_path / "data")
        done = here.run("doctor")
        assert done.returncode == 1
        assert "There is no database file" in done.stdout
        assert not here.file.exists()

    def test_an_installation_that_has_just_begun_is_well(self, tmp_path: Path) -> None:
        here = Installation(folder=tmp_path / "data")
        here.folder.mkdir()
        assert here.run("migrate").returncode == 0
        done = here.run("doctor", "--json")
        assert (done.returncode, json.loads(done.stdout)) == (0, {"needs_person": False, "diagnoses": []})


class TestTheInstallation:
    def test_a_database_that_does_not_answer(self, well: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(*args: Any) -> None:
            raise OperationalError("the password is " + "x" * 8)

        with monkeypatch.context() as patch:
            patch.setattr(connection, "cursor", away)
            diagnosis = only(examine())
        assert diagnosis.why == "It does not answer (OperationalError)."

    def test_a_migration_that_is_missing(self, well: Cast) -> None:
        (last,) = MigrationLoader(connection).graph.leaf_nodes("conductor")
        MigrationRecorder(connection).record_unapplied(*last)
        diagnosis = only(examine())
        assert diagnosis.why == "1 migration of conductor not applied."
        assert "manage.py migrate" in diagnosis.do

    def test_triggers_that_are_gone(self, well: Cast) -> None:
        triggers.uninstall(connection)
        assert only(examine()).what == "The ledger is not protected."

    @pytest.mark.parametrize(("seconds", "told"), [(4, 0), (-4, 0), (60, 1), (-60, 1)])
    def test_clocks_that_differ(self, well: Cast, seconds: int, told: int) -> None:
        moment = clock.now() + timedelta(seconds=seconds)
        with clock.running_on(lambda: moment):
            assert len(list(installation.database_clock())) == told

    def test_a_broker_that_is_away(self, well: Cast, settings: Any) -> None:
        settings.TIKITAKA_BROKER_URL = "redis://127.0.0.1:1/0"
        assert only(examine()).why == "The broker does not answer."

    def test_a_queue_that_nobody_serves(self, well: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        answers = {"a@x": [{"name": "control"}, {"name": "flush"}], "b@x": [{"name": "nodes"}]}
        routes = {f"tikitaka.{queue}": {"queue": queue} for queue in ("control", "nodes", "embed", "flush")}
        app = SimpleNamespace(
            conf=SimpleNamespace(task_routes=routes),
            control=SimpleNamespace(inspect=lambda timeout: SimpleNamespace(active_queues=lambda: answers)),
        )
        settings.TIKITAKA_BROKER_URL = "memory://"
        monkeypatch.setattr("apps.conductor.broker.app", app)
        monkeypatch.setattr("apps.audit.doctor.installation.broker_answers", lambda: True)
        assert only(examine()).what == "Nobody serves the queue embed."

    def test_workspaces_that_are_not_there(self, well: Cast, settings: Any, tmp_path: Path) -> None:
        settings.TIKITAKA_WORKSPACES = tmp_path / "unmounted"
        assert only(examine()).why == "The folder of workspaces is not there."

    def test_workspaces_that_cannot_be_written(self, well: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("apps.conductor.fitness.os.access", lambda *_: False)
        assert only(examine()).why == "The folder of workspaces cannot be written."

    def test_weights_that_are_others(
        self, well: Cast, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.TIKITAKA_EMBEDDER = "sbert"
        (tmp_path / "model.safetensors").write_bytes(b"others")
        monkeypatch.setattr("apps.audit.doctor.installation.weights_folder", lambda: tmp_path)
        assert only(examine()).why == "It refuses to load: the encoder's weights are not the pinned ones."
        settings.TIKITAKA_EMBED_HERE = False
        assert examine() == []

    def test_weights_that_are_there(self, well: Cast, settings: Any) -> None:
        settings.TIKITAKA_EMBEDDER = "sbert"
        assert examine() == []

    def test_an_encoder_that_is_off_needs_nobody(self, well: Cast, settings: Any) -> None:
        settings.TIKITAKA_EMBEDDER = "off"
        assert not only(examine()).needs_person

    def test_a_disk_that_is_nearly_full_is_told_once(self, well: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(installation.shutil, "disk_usage", lambda _: SimpleNamespace(free=10 * 1024**2))
        assert only(examine()).why == "10 MiB are free."


class TestWork:
    @pytest.mark.parametrize("stage", work._STAGES)
    def test_every_stage_has_a_time_that_is_usual(self, well: Cast, stage: str) -> None:
        found, limit_s = figures(), work._STAGES[stage][0]
        usual = replace(found, stages={**found.stages, stage: Stage(2, limit_s)})
        late = replace(found, stages={**found.stages, stage: Stage(2, limit_s + 1)})
        assert list(work.waiting(usual)) == []
        assert only(work.waiting(late)).what.startswith("2 ")

    def test_no_stage_is_forgotten(self, well: Cast) -> None:
        assert {*work._STAGES, "open_reviews"} == set(figures().stages)

    def test_a_lease_that_nobody_ended(self, well: Cast) -> None:
        attempt = attempt_of(running(well, minutes=9), well.agents["backend"], 1)
        lease(well, attempt, expires_at=ago(minutes=5))
        diagnosis = only(examine())
        assert diagnosis.what == "1 attempt whose worker died waiting."
        assert "manage.py sweep" in diagnosis.do

    @pytest.mark.parametrize("hold", Hold)
    def test_every_reason_for_which_a_node_is_held(self, well: Cast, hold: Hold) -> None:
        diagnosis = only(work.held(replace(figures(), held={hold.value: 3})))
        assert diagnosis.what == f"3 queued nodes not started yet ({hold.value})."
        assert not diagnosis.needs_person

    @pytest.mark.parametrize("whose", ["team", "organization"])
    def test_a_pause(self, well: Cast, whose: str) -> None:
        running(well, minutes=1)
        running(well, minutes=1, status="completed")
        owner = getattr(well, whose)
        owner.paused_at = clock.now()
        owner.save()
        diagnosis = only(examine())
        assert diagnosis.what == "1 task of Core (Alpha) not going on."
        assert diagnosis.why == f"Somebody paused the {whose}."

    @pytest.mark.parametrize(
        ("reason", "advice"), [("tokens_spent", "An owner raises it"), ("price_unknown", "TIKITAKA_PRICES")]
    )
    def test_a_budget_that_is_spent(self, well: Cast, reason: str, advice: str) -> None:
        whole = {"organization": well.organization, "since": clock.now(), "tokens_max": 1}
        Budget.objects.create(**whole, team=well.team, exhausted=reason)
        Budget.objects.create(**whole)
        diagnosis = only(examine())
        assert diagnosis.what == "Nothing more begins for Core of Alpha."
        assert diagnosis.why == f"The budget of the team is spent ({reason})."
        assert advice in diagnosis.do

    def test_what_a_budget_holds_is_not_ready(self, well: Cast) -> None:
        queued(running(well, minutes=10), well.agents["backend"], 1)
        Budget.objects.create(organization=well.organization, since=clock.now(), attempts_max=0)
        assert figures().stages["ready_nodes"].depth == 0
        assert figures().held == {Hold.BUDGET.value: 1}

    def test_a_pause_without_work_is_no_matter(self, well: Cast) -> None:
        well.team.paused_at = clock.now()
        well.team.save()
        assert examine() == []

    def test_a_note_of_a_paused_team(self, well: Cast) -> None:
        approved(well)
        well.team.paused_at = clock.now()
        well.team.save()
        assert only(examine()).what == "1 approved note of Core (Alpha) not going on."

    def test_a_flush_without_attempts_left(self, well: Cast) -> None:
        segment = Segment.objects.create(
            organization=well.organization, team=well.team, opened_at=clock.now(), status="closed"
        )
        flush = Flush.objects.create(
            organization=well.organization, segment=segment, ordinal=1, status="failed", reason="invalid_json",
            attempts=[{}] * DEFAULT.flush_attempts_max,
        )  # fmt: skip
        assert only(examine()).why == "Every attempt failed; the last one with invalid_json."
        Flush.objects.filter(pk=flush.pk).update(attempts=[{}], claimed_until=clock.now() + timedelta(minutes=1))
        assert examine() == []

    def test_a_review_that_is_late(self, well: Cast) -> None:
        proposed(well)
        assert examine() == []
        ReviewItem.objects.update(due_at=ago(hours=30))
        assert only(examine()).why == "The oldest was due 1 day ago."

    def test_an_approved_note_that_cannot_land(self, well: Cast) -> None:
        note = approved(well)
        assert examine() == []
        Note.objects.filter(pk=note.pk).update(landing_fault="no_space")
        assert only(examine()).why == "The fault is no_space."

    def test_a_log_that_nobody_verified(self, well: Cast) -> None:
        LogCheck.objects.filter(organization=well.organization).update(checked_at=ago(hours=3))
        diagnosis = only(examine())
        assert diagnosis.what == "1 log of the ledger not verified lately."
        assert "manage.py reconcile" in diagnosis.do
        LogCheck.objects.all().delete()
        assert examine() == []

    def test_a_log_that_is_broken(self, well: Cast) -> None:
        LogCheck.objects.filter(organization=well.organization).update(valid=False)
        assert only(examine()).what == "1 log of the ledger broken."


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (1, "1 second"), (119, "1 minute"), (7_200, "2 hours"), (86_400, "1 day")],
)
def test_times_are_said_in_words(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def test_amounts_are_said_in_words() -> None:
    assert (some(1, "flush", "flushes"), some(2, "flush", "flushes"), some(0, "log")) == (
        "1 flush",
        "2 flushes",
        "0 logs",
    )
