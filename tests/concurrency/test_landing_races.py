"""What people decide, what an agent does and what another worker does while a note is being written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from apps.conductor import story
from apps.conductor.models import Incident
from apps.conductor.pool import embedded_pool
from apps.conductor.sweep import reconcile, sweep
from apps.conductor.teams import pause_team, retire_agent
from apps.ledger import clock
from apps.memory.models import Landing, Note
from apps.memory.selectors import landings_to_remove
from apps.memory.services.landing import land as landing
from apps.memory.services.landing.remove import remove_landing
from apps.memory.services.landing.skills import own_skills
from apps.memory.services.landing.write import WriteRefused
from apps.memory.services.notes import seal_digest
from apps.memory.services.review import revoke
from tests.support.cast import Cast
from tests.support.notes import RULE, approved, landed
from tikitaka import workspace
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db(transaction=True)


def skill(cast: Cast) -> Path:
    return cast.folder("backend") / ".agents" / "skills" / "upload-limits" / "SKILL.md"


def sweep_now() -> None:
    with embedded_pool() as pool:
        sweep()
        assert pool.drain(120)


def remove_all() -> None:
    for pk in landings_to_remove():
        remove_landing(landing=pk, policy=DEFAULT)


@pytest.fixture
def before_the_write(monkeypatch):
    """before_the_write(act) lets `act` happen once, between the intent and the lock of the workspace."""
    original = landing.write_landing

    def install(act: Any) -> None:
        todo = [act]

        def late(row: Landing, **options: Any) -> WriteRefused | None:
            answer = todo.pop()() if todo else None
            return answer or original(row, **options)

        monkeypatch.setattr(landing, "write_landing", late)

    return install


class TestDecidedMeanwhile:
    def test_revoked(self, committed_cast: Cast, before_the_write) -> None:
        note = approved(committed_cast)

        def act() -> None:
            revoke(actor=committed_cast.reviewer, note=Note.objects.get(pk=note.pk), words="no")
            remove_all()

        before_the_write(act)
        story.land(note.pk)
        sweep_now()
        assert not skill(committed_cast).exists()
        assert Note.objects.get(pk=note.pk).status == "revoked"

    def test_the_agent_retired(self, committed_cast: Cast, before_the_write) -> None:
        note = approved(committed_cast, to=("backend", "frontend"))

        def act() -> None:
            retire_agent(actor=committed_cast.operator, agent=committed_cast.agents["backend"])
            remove_all()

        before_the_write(act)
        story.land(note.pk)
        sweep_now()
        assert not skill(committed_cast).exists()

    def test_the_team_paused(self, committed_cast: Cast, before_the_write) -> None:
        note = approved(committed_cast)
        before_the_write(lambda: pause_team(actor=committed_cast.operator, team=committed_cast.team, paused=True))
        story.land(note.pk)
        assert Note.objects.get(pk=note.pk).status == "approved"
        assert not skill(committed_cast).exists()

    def test_expired(self, committed_cast: Cast) -> None:
        note = approved(committed_cast)
        note.expires_at = clock.now() - timedelta(days=1)
        note.save()
        seal_digest(note)
        story.land(note.pk)
        assert Note.objects.get(pk=note.pk).status == "approved"
        assert not skill(committed_cast).exists()

    def test_revoked_at_any_moment(self, committed_cast: Cast) -> None:
        """A lander and a revoking person in threads of their own, at shifting distances."""
        with embedded_pool() as pool:
            for number in range(12):
                note = approved(committed_cast, f"Rule {number} holds for kind {number * 7}.", key=f"race-key-{number}")
                pool.wake("land", note.pk)
                person = threading.Timer(0.002 * number, self._revoke, [committed_cast, note.pk])
                person.start()
                person.join()
                assert pool.drain(120)
            sweep()
            assert pool.drain(120)
        assert list(committed_cast.folder("backend").glob(".agents/skills/*/SKILL.md")) == []

    def _revoke(self, cast: Cast, note: Any) -> None:
        try:
            revoke(actor=cast.reviewer, note=Note.objects.get(pk=note), words="no")
            story.wake_removals()
        finally:
            connections.close_all()


class TestAnotherWorker:
    def test_one_whose_time_ran_out_undoes_nothing(self, committed_cast: Cast, before_the_write) -> None:
        note = approved(committed_cast)

        def act() -> WriteRefused:
            Note.objects.filter(pk=note.pk).update(landing_until=clock.now() - timedelta(seconds=1))
            story.land(note.pk)
            return WriteRefused(reason="io_error", transient=True)

        before_the_write(act)
        story.land(note.pk)
        sweep_now()
        assert Note.objects.get(pk=note.pk).status == "active"
        assert Landing.objects.filter(note=note, status="landed").exists()


class TestTextThatMayBeThere:
    def test_a_fault_after_the_rename_is_cleaned_when_it_can_be(self, committed_cast: Cast, monkeypatch) -> None:
        """The agent links our temporary file before the rename: neither reading back nor removing is possible."""
        note = approved(committed_cast)
        real = os.rename

        def rename(source: str, target: str, **options: Any) -> None:
            os.link(source, "copy", src_dir_fd=options["src_dir_fd"], dst_dir_fd=options["src_dir_fd"])
            real(source, target, **options)

        with monkeypatch.context() as patch:
            patch.setattr(workspace.os, "rename", rename)
            story.land(note.pk)
        assert skill(committed_cast).exists()
        (skill(committed_cast).parent / "copy").unlink()
        sweep_now()
        assert not skill(committed_cast).exists()
        assert list(Landing.objects.values_list("status", flat=True)) == ["failed"]

    def test_a_kill_before_the_cleaning(self, committed_cast: Cast, monkeypatch) -> None:
        note = approved(committed_cast)
        real = os.fsync
        faults = [OSError(5, "input/output error")]

        def fsync(handle: int) -> None:
            if faults and stat.S_ISDIR(os.fstat(handle).st_mode) and skill(committed_cast).exists():
                raise faults.pop()
            real(handle)

        def killed(**options: Any) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(workspace.os, "fsync", fsync)
            patch.setattr(landing, "remove_landing", killed)
            with pytest.raises(SystemExit):
                story.land(note.pk)
        assert skill(committed_cast).exists()
        revoke(actor=committed_cast.reviewer, note=Note.objects.get(pk=note.pk), words="no")
        sweep_now()
        assert not skill(committed_cast).exists()


class TestHostileWorkspace:
    def test_a_lock_that_the_agent_holds_costs_seconds(self, committed_cast: Cast) -> None:
        note = approved(committed_cast)
        lock = committed_cast.folder("backend").parent / "landing.lock"
        code = f"import fcntl,time;f=open({str(lock)!r},'w');fcntl.flock(f,2);print('held',flush=True);time.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            story.land(note.pk)
            assert holder.poll() is None
            holder.kill()
        note.refresh_from_db()
        assert (note.status, note.landing_fault) == ("approved", "workspace_busy")

    def test_more_skills_than_can_be_held_are_no_catalogue(self, committed_cast: Cast) -> None:
        for number in range(501):
            folder = committed_cast.folder("backend") / ".agents" / "skills" / f"skill-{number}"
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text("x")
        assert own_skills(agent=committed_cast.agents["backend"].pk) is None

    def test_a_huge_skill_is_not_read(self, committed_cast: Cast) -> None:
        folder = committed_cast.folder("backend") / ".agents" / "skills" / "huge"
        folder.mkdir(parents=True)
        with (folder / "SKILL.md").open("w") as file:
            file.truncate(4 * 1024 * 1024)
        (profile,) = own_skills(agent=committed_cast.agents["backend"].pk) or []
        assert (profile.key, profile.description) == ("huge", "")

    def test_one_linked_workspace_stops_no_restoring(self, committed_cast: Cast) -> None:
        landed(committed_cast)
        security = committed_cast.folder("security")
        security.rename(security.with_name("moved"))
        security.symlink_to(security.with_name("moved"))
        skill(committed_cast).write_text("changed")
        assert reconcile(restore=True) >= 1
        assert skill(committed_cast).read_text() != "changed"

    def test_instructions_that_were_moved_aside_do_not_come_back_unseen(self, committed_cast: Cast) -> None:
        note = landed(committed_cast, severe=True)
        file = committed_cast.folder("backend") / "AGENTS.md"
        file.rename(file.with_name("aside"))
        revoke(actor=committed_cast.reviewer, note=note, words="no")
        sweep_now()
        assert RULE not in file.read_text()
        file.with_name("aside").rename(file)
        reconcile()
        assert Incident.objects.filter(kind="drift", closed_at=None, subject__contains="AGENTS.md").exists()
