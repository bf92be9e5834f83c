"""SIGKILL at the worst moments. Afterwards a sweep makes the state right, and nothing has happened twice."""

from __future__ import annotations

import json
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from apps.conductor.pool import embedded_pool
from apps.conductor.story import close_thread, submit
from apps.conductor.sweep import sweep
from apps.ledger import clock
from apps.ledger.selectors import entries, logs, verify_log
from apps.memory.models import Flush, GovernedFile, Landing, Note
from apps.tasks.models import AgentLease, Attempt, Task, TreeLock
from tests.flows.test_promises import extracted, record
from tests.flows.test_running import wait_until
from tests.support import processes
from tests.support.cast import Cast
from tests.support.notes import RULE, approved
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.landing.blocks import find_blocks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.kill]

KILL = "import os, signal\ndef die(*args, **options):\n    os.kill(os.getpid(), signal.SIGKILL)\n"


def sweep_later(minutes: int = 30, runtime=None) -> None:
    """A restarted process sweeps after leases and claims have run out."""
    later = datetime.now(UTC) + timedelta(minutes=minutes)
    arguments = {"runtimes": runtime} if runtime else {}
    with clock.running_on(lambda: later), embedded_pool(**arguments) as pool:
        for _ in range(2):
            sweep()
            assert pool.drain(120)


def count(cast: Cast, kind: str) -> int:
    return entries(cast.organization.pk, types=(kind,)).count()


class TestLanding:
    @pytest.mark.parametrize(
        "point",
        ["apps.memory.services.landing.land.write_landing", "apps.memory.services.landing.write._record"],
        ids=["between intent and write", "between write and confirmation"],
    )
    @pytest.mark.parametrize("severe", [False, True], ids=["skill", "instructions"])
    def test_a_killed_landing_is_finished_once(self, committed_cast: Cast, point: str, severe: bool) -> None:
        note = approved(committed_cast, severe=severe)
        module, name = point.rsplit(".", 1)
        died = processes.run(
            KILL + f"import {module} as module\nmodule.{name} = die\n"
            f"from apps.conductor.story import land\nland('{note.pk}')"
        )
        assert died.returncode == -signal.SIGKILL
        assert list(Landing.objects.values_list("status", flat=True)) == ["intended"]

        sweep_later()

        note.refresh_from_db()
        assert note.status == "active"
        assert list(Landing.objects.values_list("status", flat=True)) == ["landed"]
        file = committed_cast.folder("backend") / Landing.objects.get().file
        landing = Landing.objects.get()
        assert GovernedFile.objects.get(agent=landing.agent, file=landing.file).kind != "foreign_skill"
        assert [block.note for block in find_blocks(file.read_text())] == [note.pk]
        assert file.read_text().count(RULE) == 1
        for kind in ("memory.landing.completed", "memory.recipient.granted", "memory.note.activated"):
            assert count(committed_cast, kind) == 1
        assert all(verify_log(log).valid for log in logs())

    def test_a_note_revoked_after_the_crash_leaves_nothing_behind(self, committed_cast: Cast) -> None:
        from apps.memory.services.review import revoke

        note = approved(committed_cast)
        processes.run(
            KILL + "import apps.memory.services.landing.write as module\nmodule._record = die\n"
            f"from apps.conductor.story import land\nland('{note.pk}')"
        )
        file = committed_cast.folder("backend") / Landing.objects.get().file
        assert RULE in file.read_text()
        note.refresh_from_db()
        revoke(actor=committed_cast.reviewer, note=note, words="wrong")

        sweep_later()

        assert not file.exists()
        assert list(Landing.objects.values_list("status", flat=True)) == ["removed"]


def test_a_killed_flush_is_finished_with_the_reply_that_was_accepted(committed_cast: Cast, settings) -> None:
    settings.TIKITAKA_EXTRACTOR = "replay"
    record(settings, "extract", json.dumps({"notes": [extracted(RULE)]}))
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(2)])
        assert pool.drain(120)
    segment = close_thread(actor=committed_cast.operator, team=committed_cast.team)
    (flush,) = Flush.objects.filter(segment=segment)
    died = processes.run(
        KILL + "import apps.memory.services.distil as module\nmodule._finish = die\n"
        f"from apps.conductor.story import flush\nflush('{flush.pk}')"
    )
    assert died.returncode == -signal.SIGKILL
    for path in settings.TIKITAKA_REPLAY.glob("*"):
        path.unlink()  # a second call would find no answer: the kept one must do

    sweep_later()

    flush.refresh_from_db()
    assert flush.status == "done"
    assert [attempt["outcome"] for attempt in flush.attempts] == ["accepted", "reply_kept"]
    assert Note.objects.count() == 1
    assert count(committed_cast, "model.called") == 1


def test_a_killed_worker_takes_its_agents_with_it_and_the_node_goes_on(committed_cast: Cast) -> None:
    mark = f"hang-{committed_cast.team.pk}"
    plan = [node(2, f"do: hang-once {mark}\ndo: say done")]
    task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=plan).task
    worker = processes.start(
        "from apps.conductor.pool import embedded_pool\nfrom apps.conductor.sweep import sweep\n"
        "with embedded_pool() as pool:\n    sweep()\n    pool.drain(120)"
    )
    wait_until(lambda: Attempt.objects.filter(task=task, spans__text="hanging").exists(), 90)
    attempt = Attempt.objects.get(task=task)

    worker.kill()
    worker.communicate(timeout=120)

    wait_until(lambda: not agents_of(attempt), 90)
    sweep_later()
    assert list(Attempt.objects.filter(task=task).order_by("number").values_list("status", "error")) == [
        ("interrupted", "interrupted"),
        ("completed", ""),
    ]
    assert Task.objects.get(pk=task.pk).status == "completed"
    assert not AgentLease.objects.exists()
    assert not TreeLock.objects.exists()


def test_a_node_that_kills_its_worker_each_time_ends_as_failed(committed_cast: Cast) -> None:
    task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(2)]).task
    code = (
        KILL + "import apps.conductor.runner as module\nmodule.run_attempt = die\n"
        "from apps.conductor.pool import embedded_pool\nfrom apps.conductor.sweep import sweep\n"
        "from apps.ledger import clock\n"
        "from datetime import datetime, timedelta, UTC\n"
        "with clock.running_on(lambda: datetime.now(UTC) + timedelta(minutes={minutes})), embedded_pool() as pool:\n"
        "    sweep()\n    pool.drain(120)"
    )
    for minutes in (0, 5):
        assert processes.run(code.format(minutes=minutes)).returncode == -signal.SIGKILL

    sweep_later(60)

    assert list(Attempt.objects.order_by("number").values_list("status", flat=True)) == ["interrupted", "interrupted"]
    assert Task.objects.get(pk=task.pk).status == "failed"


def test_a_holder_that_wakes_up_late_can_no_longer_write(committed_cast: Cast) -> None:
    from apps.tasks.services.attempts import StaleHolder, save_spans
    from apps.tasks.services.claim import claim_ready
    from apps.tasks.services.finish import Ended, finish_attempts
    from tikitaka.capture.events import SpanDraft
    from tikitaka.policy import DEFAULT
    from tikitaka.ports import RunEnd

    task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(2)]).task
    (late,) = claim_ready(team=committed_cast.team.pk, organization=committed_cast.team.organization_id, policy=DEFAULT)
    sweep_later(runtime=ScriptedRuntime(lambda launch: "by the second"))

    finished = finish_attempts(
        organization=committed_cast.organization.pk,
        team=committed_cast.team.pk,
        ends=[Ended(claimed=late, end=RunEnd(answer="by the late one"))],
        policy=DEFAULT,
    )
    assert finished.stale == (late.attempt,)
    with pytest.raises(StaleHolder):
        save_spans(
            attempt=late.attempt,
            fence=late.fence,
            spans=[(1, SpanDraft(kind="reasoning", text="late"))],
            policy=DEFAULT,
        )
    assert [a.output for a in Attempt.objects.filter(task=task, status="completed")] == ["by the second"]


def agents_of(attempt: Attempt) -> str:
    found = subprocess.run(["pgrep", "-f", "talker.py"], capture_output=True, text=True, check=False).stdout.split()
    mark = f"TIKITAKA_ATTEMPT={attempt.pk}".encode()
    alive = []
    for pid in found:
        try:
            if mark in Path(f"/proc/{pid}/environ").read_bytes():
                alive.append(pid)
        except OSError:
            continue
    return " ".join(alive)
