"""The whole way of a note to another machine: landed, published, written there, confirmed, available; and back."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.services.tokens import revoke_token
from apps.conductor.models import Incident
from apps.conductor.story import land
from apps.conductor.working import own_notes
from apps.ledger import clock
from apps.ledger.models import Entry
from apps.memory.models import Landing, Note, RemoteFile
from apps.memory.services.landing.reconcile import available_notes
from apps.memory.services.landing.remove import remove_landing
from apps.memory.services.review import revoke
from tests.support import processes
from tests.support.cast import Cast
from tests.support.machines import agent_token, row_of, service_token
from tests.support.notes import RULE, approved, landed
from tests.support.remote import remote_agent, start_sync, sync
from tikitaka.authz import Principal
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db(transaction=True)
SKILL = ".agents/skills/upload-limits/SKILL.md"
OTHER_RULE = "Name every bucket after its owner."


class Place:
    """The agent's own machine."""

    def __init__(self, cast: Cast, server: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.cast = cast
        self.server = server
        self.folder = folder
        self.agent = cast.agents["distant"]
        self.token = agent_token(cast.owner, self.agent)

    def sync(self, *options: str, **how: Any) -> tuple[int, str]:
        return sync(self.server, self.agent.pk, self.folder, self.token, *options, **how)

    def start(self, **how: Any) -> Any:
        return start_sync(self.server, self.agent.pk, self.folder, self.token, **how)

    def read(self, path: str) -> str | None:
        file = self.folder / path
        return file.read_text() if file.exists() else None

    def governed(self) -> dict[str, str]:
        return {str(path.relative_to(self.folder)): path.read_text() for path in self.folder.rglob("*.md")}

    def is_equal(self) -> bool:
        here = self.cast.folder("distant")
        paths = ["AGENTS.md", *(str(path.relative_to(here)) for path in here.glob(".agents/skills/*/SKILL.md"))]
        there = ["AGENTS.md", *(str(p.relative_to(self.folder)) for p in self.folder.glob(".agents/skills/*/SKILL.md"))]
        return set(paths) == set(there) and all(self.read(path) == (here / path).read_text() for path in paths)

    def available(self) -> list[Any]:
        return available_notes(agent=self.agent.pk)[0]

    def in_place(self) -> list[bool | None]:
        from apps.accounts.services.tokens import principal_of_token

        who = principal_of_token(self.token)
        assert isinstance(who, Principal)
        return [note.in_place for note in own_notes(who)]


@pytest.fixture
def place(committed_cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The server has a short age, so that a machine waits only seconds and none keeps it from ending."""
    monkeypatch.setenv("TIKITAKA_POLICY_CONFIRM_AGE_S", "36")
    remote_agent(committed_cast)
    with processes.serving() as server:
        yield Place(committed_cast, server, tmp_path / "machine" / "workspace")


def until(true: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


def take_back(note: Note, cast: Cast) -> None:
    revoke(actor=cast.reviewer, note=note, words="wrong")
    for landing in Landing.objects.filter(note=note).values_list("pk", flat=True):
        remove_landing(landing=landing, policy=DEFAULT)


def end(process: Any) -> str:
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return errors


def test_there_and_back(place: Place) -> None:
    note = landed(place.cast, to=["distant", "backend"])
    severe = landed(place.cast, OTHER_RULE, to=["distant"], severe=True)
    assert place.available() == []
    assert place.in_place() == [False, False]

    code, said = place.sync()

    assert code == 0, said
    assert place.is_equal()
    assert set(place.available()) == {note.pk, severe.pk}
    assert place.in_place() == [True, True]
    assert Landing.objects.filter(agent=place.agent, confirmed_at=None).count() == 0
    assert RULE not in said
    assert OTHER_RULE not in said
    assert place.token not in said

    take_back(note, place.cast)
    code, said = place.sync()

    assert code == 0, said
    assert place.read(SKILL) is None
    assert not (place.folder / SKILL).parent.exists()
    assert place.is_equal()
    assert place.available() == [severe.pk]

    take_back(severe, place.cast)
    assert place.sync()[0] == 0
    assert OTHER_RULE not in (place.read("AGENTS.md") or "")
    assert place.is_equal()


def test_a_confirmation_grows_old_and_is_renewed(place: Place) -> None:
    note = landed(place.cast, to=["distant"])
    assert place.sync()[0] == 0
    later = clock.now() + timedelta(seconds=DEFAULT.confirm_age_s + 1)
    with clock.running_on(lambda: later):
        assert place.available() == []
        assert place.in_place() == [False]
    RemoteFile.objects.update(confirmed_at=clock.now() - timedelta(seconds=DEFAULT.confirm_age_s + 1))
    assert place.available() == []
    assert place.sync()[0] == 0
    assert place.available() == [note.pk]
    assert Incident.objects.count() == 0, "what nobody confirmed is no drift"
    said = Entry.objects.get(type="memory.landing.confirmed")  # once, however often it is renewed
    assert said.actor_id == str(place.agent.pk)
    digest = hashlib.sha256((place.read(SKILL) or "").encode()).hexdigest()
    assert json.loads(said.header)["facts"]["file_digest"] == digest


def test_all_or_none_over_a_machine_here_and_one_elsewhere(place: Place) -> None:
    note = approved(place.cast, to=["distant", "frontend"])
    file = place.cast.folder("frontend") / SKILL
    file.parent.mkdir(parents=True)
    file.write_text("no skill that can be read")
    land(note.pk)
    note.refresh_from_db()
    assert note.status == "pending"

    code, said = place.sync()

    assert code == 0, said
    assert place.read(SKILL) is None
    assert place.available() == []
    assert place.is_equal()


def test_what_lands_while_it_runs_is_there_soon(place: Place) -> None:
    process = place.start()
    until(RemoteFile.objects.exists)
    note = landed(place.cast, to=["distant"])
    landed_at = time.monotonic()
    until(lambda: place.available() == [note.pk])
    assert time.monotonic() - landed_at < 15, "it was woken, and did not come by the way"
    take_back(note, place.cast)
    until(lambda: place.read(SKILL) is None)
    said = end(process)
    assert RULE not in said
    assert place.token not in said


def test_what_a_person_changes_there_is_an_incident_and_is_undone(place: Place) -> None:
    note = landed(place.cast, to=["distant"])
    assert place.sync()[0] == 0
    (place.folder / SKILL).write_text("a person's")

    code, said = place.sync()

    assert code == 0, said
    incident = Incident.objects.get(kind="drift")
    assert incident.subject == f"agent {place.agent.pk} {SKILL} on its machine"
    assert incident.closed_at is not None, "opened by the change, closed by the cure"
    assert place.is_equal()
    assert place.available() == [note.pk]
    (copy,) = (place.folder.parent / ".workspace.tikitaka-aside").iterdir()
    assert copy.read_text() == "a person's"


def test_a_file_that_was_never_ours_stays_and_is_an_incident(place: Place) -> None:
    (place.folder / "AGENTS.md").write_text("a person's")
    landed(place.cast, OTHER_RULE, to=["distant"], severe=True)
    code, said = place.sync()
    assert (code, place.read("AGENTS.md")) == (1, "a person's"), said
    assert Incident.objects.get(kind="drift", closed_at=None).subject.endswith("AGENTS.md on its machine")
    assert place.available() == []
    (place.folder / "AGENTS.md").unlink()
    assert place.sync()[0] == 0
    assert not Incident.objects.filter(closed_at=None).exists()
    assert len(place.available()) == 1


@pytest.mark.parametrize("link", ["file", "folder", "hard"])
def test_a_hostile_link_there_is_refused_and_said(place: Place, link: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "skills" / "upload-limits").mkdir(parents=True)
    victim = outside / "skills" / "upload-limits" / "SKILL.md"
    victim.write_text("outside")
    if link == "folder":
        (place.folder / ".agents").symlink_to(outside, target_is_directory=True)
    else:
        (place.folder / SKILL).parent.mkdir(parents=True)
        make = (place.folder / SKILL).symlink_to if link == "file" else (place.folder / SKILL).hardlink_to
        make(victim)
    landed(place.cast, to=["distant"])

    code, said = place.sync()

    assert code == 1
    assert ("hard_link" if link == "hard" else "link") in said
    assert victim.read_text() == "outside"
    assert [path.name for path in outside.rglob("*") if path.is_file()] == ["SKILL.md"]
    assert place.available() == []
    assert Incident.objects.get(kind="drift", closed_at=None).detail == ("hard_link" if link == "hard" else "link")


KILLED_IN = {
    "before the write": "import tikitaka.workspace as w\nw._write_new = die\n",
    "between write and rename": "w_rename = os.rename\nos.rename = die\n",
    "after the rename": (
        "rename = os.rename\ndef after(*a, **k):\n    rename(*a, **k)\n    die()\nos.rename = after\n"
    ),
    "before the report": "import tikitaka.sync.server as s\ns.Server.report = die\n",
}


@pytest.mark.kill
@pytest.mark.parametrize("moment", sorted(KILLED_IN))
def test_killed_at_any_moment_it_leaves_whole_files(place: Place, moment: str) -> None:
    first = landed(place.cast, to=["distant"])
    assert place.sync()[0] == 0
    before = place.governed()
    landed(place.cast, OTHER_RULE, to=["distant"], severe=True)
    take_back(first, place.cast)
    second = landed(place.cast, RULE + " Always.", to=["distant"], key="upload-checks", description="Uploads")
    die = "import os, signal\ndef die(*a, **k):\n    os.kill(os.getpid(), signal.SIGKILL)\n"

    code, _ = place.sync(before=die + KILLED_IN[moment])

    assert code == -signal.SIGKILL
    for path, text in place.governed().items():
        here = place.cast.folder("distant") / path
        assert text == before.get(path) or text == here.read_text(), "neither the old file nor the new one"
    code, said = place.sync()
    assert code == 0, said
    assert place.is_equal()
    assert not list(place.folder.rglob(".tikitaka-*"))
    assert not (place.folder.parent / ".workspace.tikitaka-aside").exists(), "both texts were ours"
    assert second.pk in place.available()


def test_two_on_one_folder_do_no_harm(place: Place) -> None:
    running = [place.start() for _ in range(2)]
    until(RemoteFile.objects.exists)
    for number in range(3):
        note = landed(
            place.cast, f"{RULE} {number}", to=["distant"], key=f"rule-{number}", description=f"Case {number}"
        )
        until(lambda note=note: note.pk in place.available())
    until(place.is_equal)
    for process in running:
        end(process)
    assert not (place.folder.parent / ".workspace.tikitaka-aside").exists()
    assert not Incident.objects.exists()


class TestEnds:
    def test_a_token_that_is_void(self, place: Place) -> None:
        revoke_token(actor=place.cast.owner, token=row_of(place.token))
        code, said = place.sync()
        assert (code, "401" in said) == (1, True)
        assert list(place.folder.iterdir()) == []

    def test_a_token_for_something_else(self, place: Place) -> None:
        for token in (
            service_token(place.cast.owner, place.cast.organization),
            agent_token(place.cast.owner, place.cast.agents["backend"]),
        ):
            place.token = token
            code, said = place.sync()
            assert (code, "404" in said) == (1, True)
        assert list(place.folder.iterdir()) == []

    def test_an_agent_that_works_here(self, place: Place) -> None:
        place.agent = place.cast.agents["backend"]
        place.token = agent_token(place.cast.owner, place.agent)
        code, said = place.sync()
        assert (code, "workspace_not_remote" in said) == (1, True)

    def test_the_folder_of_another_agent(self, place: Place) -> None:
        assert place.sync()[0] == 0
        before = place.read("AGENTS.md")
        place.agent = remote_agent(place.cast, "Faraway")
        place.token = agent_token(place.cast.owner, place.agent)
        assert place.sync()[0] == 2
        assert place.read("AGENTS.md") == before
