"""Workspaces on other machines at the door: who is given the manifest, how it is waited for, what a report does."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from apps.conductor.models import Incident
from apps.conductor.pool import embedded_pool
from apps.conductor.story import land, wake_removals
from apps.conductor.sweep import reconcile
from apps.conductor.teams import retire_agent
from apps.context.models import ContextSnapshot
from apps.ledger import clock
from apps.memory.models import GovernedFile, Landing, LandingStatus, RemoteFile
from apps.memory.services.landing import manifest as manifests
from apps.memory.services.landing.reconcile import available_notes
from apps.memory.services.landing.remove import remove_landing
from apps.memory.services.review import revoke
from apps.teams.models import Agent, Workspace
from tests.doors.conftest import Stage, attempt_of, browser_of
from tests.support.cast import Cast
from tests.support.machines import agent_token, attempt_token, machine, send, service_token
from tests.support.notes import RULE, approved, landed
from tests.support.remote import remote_agent
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db

SKILL = ".agents/skills/upload-limits/SKILL.md"


@pytest.fixture
def team(cast: Cast) -> Cast:
    """With an agent `distant`, who works on another machine."""
    remote_agent(cast)
    return cast


class Machine:
    """What runs beside the agent, without a folder."""

    def __init__(self, cast: Cast, agent: str = "distant") -> None:
        self.agent = cast.agents[agent]
        self.client = machine(agent_token(cast.owner, self.agent))

    def fetch(self, *, known: str = "", wait_s: int = 0) -> Any:
        headers = {"if-none-match": known} if known else {}
        return send(self.client, "GET", address(self.agent) + f"?wait_s={wait_s}", **headers)

    def manifest(self) -> dict[str, Any]:
        answer = self.fetch()
        assert answer.status_code == 200, answer.content
        return answer.json()

    def files(self) -> dict[str, Any]:
        return {file["path"]: file for file in self.manifest()["files"]}

    def report(self, *, version: str | None = None, **changes: str | None) -> Any:
        """As the manifest wants it, but for `changes`: the path's last folder and the digest, None for not there."""
        manifest = self.manifest()
        held = {file["path"]: file["digest"] for file in manifest["files"]}
        for name, digest in changes.items():
            path = SKILL if name == "skill" else "AGENTS.md"
            held[path] = digest  # type: ignore[assignment]
        files = [{"path": path, "digest": digest} for path, digest in held.items() if digest is not None]
        answer = self.send(version or manifest["version"], files)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def send(self, version: str, files: list[dict[str, str]]) -> Any:
        return send(self.client, "POST", address(self.agent, report=True), {"version": version, "files": files})

    def available(self) -> list[Any]:
        return available_notes(agent=self.agent.pk)[0]


def address(agent: Agent, *, report: bool = False) -> str:
    return reverse("api:agent-workspace-report" if report else "api:agent-workspace", args=[agent.pk])


def drift() -> list[str]:
    return list(Incident.objects.filter(kind="drift", closed_at=None).values_list("subject", flat=True))


class TestTheManifest:
    def test_gives_the_governed_files_and_no_other(self, team: Cast) -> None:
        landed(team, to=["distant"])
        folder = team.folder("distant")
        (folder / "secret.txt").write_text("not governed")
        (folder / ".agents" / "skills" / "own-work").mkdir()
        (folder / ".agents" / "skills" / "own-work" / "SKILL.md").write_text("---\nname: x\ndescription: y\n---\n")

        files = Machine(team).files()

        assert set(files) == {"AGENTS.md", SKILL}
        for path, file in files.items():
            raw = (folder / path).read_bytes()
            assert file["content"].encode() == raw
            assert file["digest"] == hashlib.sha256(raw).hexdigest()
        assert (files["AGENTS.md"]["kind"], files[SKILL]["kind"]) == ("instructions", "own_skill")

    def test_its_etag_is_its_version_and_is_not_sent_twice(self, team: Cast) -> None:
        distant = Machine(team)
        first = distant.fetch()
        assert first["ETag"] == f'"{first.json()["version"]}"'
        again = distant.fetch(known=first["ETag"])
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
        landed(team, to=["distant"])
        assert distant.fetch(known=first["ETag"]).status_code == 200

    @pytest.mark.parametrize("path", ["AGENTS.md", SKILL])
    def test_a_file_that_was_changed_here_is_refused_by_name(self, team: Cast, path: str) -> None:
        landed(team, to=["distant"])
        (team.folder("distant") / path).write_text("somebody was here")
        manifest = Machine(team).manifest()
        assert manifest["refused"] == [{"path": path, "reason": "file_changed"}]
        assert path not in {file["path"] for file in manifest["files"]}
        assert "somebody" not in str(manifest)

    @pytest.mark.parametrize(("spoil", "reason"), [("link", "link"), ("hard", "hard_link"), ("gone", "file_absent")])
    def test_so_is_one_that_cannot_be_read(self, team: Cast, spoil: str, reason: str, tmp_path: Any) -> None:
        file, outside = team.folder("distant") / "AGENTS.md", tmp_path / "outside"
        outside.write_text("outside")
        file.unlink()
        if spoil == "link":
            file.symlink_to(outside)
        elif spoil == "hard":
            file.hardlink_to(outside)
        manifest = Machine(team).manifest()
        assert manifest["refused"] == [{"path": "AGENTS.md", "reason": reason}]
        assert "outside" not in str(manifest)

    def test_is_bounded(self, team: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        landed(team, to=["distant"])
        monkeypatch.setattr(manifests, "_BYTES_MAX", len((team.folder("distant") / SKILL).read_bytes()))
        assert [row["reason"] for row in Machine(team).manifest()["refused"]] == ["manifest_too_large"]

    def test_a_folder_that_is_away_is_said(self, team: Cast) -> None:
        folder = team.folder("distant")
        folder.rename(folder.with_name("elsewhere"))
        answer = Machine(team).fetch()
        assert (answer.status_code, answer.json()["code"]) == (409, "workspace_unreadable")

    @pytest.mark.parametrize("wait_s", [-1, 31, "x"])
    def test_a_wrong_wait_is_named(self, team: Cast, wait_s: Any) -> None:
        assert "wait_s" in Machine(team).fetch(wait_s=wait_s).json()["fields"]

    def test_a_skill_of_a_person_is_given_with_our_block_in_it(self, team: Cast) -> None:
        note = approved(team, to=["distant"])
        file = team.folder("distant") / SKILL
        file.parent.mkdir(parents=True)
        file.write_text("---\nname: upload-limits\ndescription: mine\n---\nMy words.\n")
        land(note.pk)
        found = Machine(team).files()[SKILL]
        assert found["kind"] == "foreign_skill"
        assert "My words." in found["content"]
        assert RULE in found["content"]
        file.write_text(found["content"].replace(RULE, "Another rule."))
        assert Machine(team).manifest()["refused"] == [{"path": SKILL, "reason": "block_changed"}]


class TestAllOrNone:
    @pytest.mark.parametrize("severe", [False, True])
    def test_a_note_that_could_not_land_for_another_is_never_published(
        self, team: Cast, severe: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from apps.memory.services.landing import land as landing

        distant = Machine(team)
        note = approved(team, to=["distant", "frontend"], severe=severe)
        (team.folder("frontend") / "AGENTS.md").write_text("somebody was here")
        file = team.folder("frontend") / ".agents" / "skills" / "upload-limits" / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text("no skill")
        seen: list[dict[str, Any]] = []
        write = landing.write_landing

        def look(row: Landing, **how: Any) -> Any:
            done = write(row, **how)
            seen.append(distant.files())
            return done

        monkeypatch.setattr(landing, "write_landing", look)
        Agent.objects.filter(pk=distant.agent.pk).update(position=0)  # its file is written before the other's

        landing.land_note(note=note.pk, policy=DEFAULT)

        note.refresh_from_db()
        assert note.status == "pending"
        assert len(seen) == 2
        assert not any(RULE in str(files) for files in [*seen, distant.files()])

    def test_published_is_it_when_it_is_active_for_all(self, team: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        from apps.memory.services.landing import land as landing

        distant = Machine(team)
        first = landed(team, "Name every bucket after its owner.", to=["distant"])
        note = approved(team, to=["distant", "frontend"])
        seen: list[dict[str, Any]] = []
        activate = landing._activate

        def look(*args: Any) -> Any:
            assert RULE in (team.folder("distant") / SKILL).read_text(), "it lies here already"
            seen.append(distant.files())
            return activate(*args)

        monkeypatch.setattr(landing, "_activate", look)
        monkeypatch.setattr(landing, "still_belongs", lambda *_, **__: True)
        landing.land_note(note=note.pk, policy=DEFAULT)
        note.refresh_from_db()
        assert note.status == "active"
        assert RULE not in seen[0][SKILL]["content"]
        assert first.content in seen[0][SKILL]["content"], "what was published stays"
        assert RULE in distant.files()[SKILL]["content"]


class TestWhoIsAnswered:
    @pytest.mark.parametrize("report", [False, True])
    def test_nobody_but_the_agent_itself(self, stage: Stage, report: bool) -> None:
        cast = stage.cast
        agent = remote_agent(cast)
        landed(cast, to=["distant"])
        others = {
            "its neighbour": machine(agent_token(cast.owner, cast.agents["backend"])),
            "an attempt of its neighbour": machine(attempt_token(stage.rows["tasks.attempt"])),  # type: ignore[arg-type]
            "an orchestrator": machine(service_token(cast.owner, cast.organization)),
            "an orchestrator of others": machine(service_token(cast.stranger, cast.other)),
            "an agent of others": machine(agent_token(cast.stranger, stage.others["teams.agent"])),
            "the owner": browser_of(cast)("owner"),
            "a stranger": browser_of(cast)("stranger"),
        }
        for who, client in others.items():
            answer = ask(client, agent, report)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), who
            assert RULE not in answer.content.decode()
        assert ask(machine(None), agent, report).status_code == 401
        assert not RemoteFile.objects.exists()

    @pytest.mark.parametrize("report", [False, True])
    def test_an_attempt_of_it_while_that_runs(self, stage: Stage, report: bool) -> None:
        agent = remote_agent(stage.cast)
        attempt = attempt_of(stage.rows["tasks.task"], agent, 7)  # type: ignore[arg-type]
        client = machine(attempt_token(attempt))
        assert ask(client, agent, report).status_code == 200
        type(attempt).objects.filter(pk=attempt.pk).update(status="completed")
        assert ask(client, agent, report).status_code == 401

    @pytest.mark.parametrize("report", [False, True])
    def test_not_an_agent_that_is_retired(self, team: Cast, report: bool) -> None:
        distant = Machine(team)
        retire_agent(actor=team.owner, agent=distant.agent)
        assert ask(distant.client, distant.agent, report).status_code == 401

    @pytest.mark.parametrize("report", [False, True])
    def test_an_agent_that_works_here_is_told_so(self, team: Cast, report: bool) -> None:
        near = Machine(team, "backend")
        answer = ask(near.client, near.agent, report)
        assert (answer.status_code, answer.json()["code"]) == (409, "workspace_not_remote")


def ask(client: Client, agent: Agent, report: bool) -> Any:
    if report:
        return send(client, "POST", address(agent, report=True), {"version": "0" * 64, "files": []})
    return send(client, "GET", address(agent))


class TestAvailable:
    def test_only_what_its_machine_confirmed(self, team: Cast) -> None:
        note = landed(team, to=["distant", "backend"])
        distant = Machine(team)
        assert distant.available() == []
        assert available_notes(agent=distant.agent.pk)[1] == [], "that is no drift"
        assert available_notes(agent=team.agents["backend"].pk)[0] == [note.pk]
        assert Landing.objects.get(agent=distant.agent).confirmed_at is None

        answer = distant.report()

        assert sorted(answer["confirmed"]) == [SKILL, "AGENTS.md"]
        assert (answer["wrong"], answer["unknown"]) == ([], [])
        assert distant.available() == [note.pk]
        assert Landing.objects.get(agent=distant.agent).confirmed_at is not None

    def test_not_for_longer_than_it_is_confirmed(self, team: Cast) -> None:
        note = landed(team, to=["distant"])
        distant = Machine(team)
        distant.report()
        now = clock.now()
        with clock.running_on(lambda: now + timedelta(seconds=DEFAULT.confirm_age_s - 5)):
            assert distant.available() == [note.pk]
        with clock.running_on(lambda: now + timedelta(seconds=DEFAULT.confirm_age_s + 5)):
            assert distant.available() == []
            assert Landing.objects.get().status == LandingStatus.LANDED
            distant.report()
            assert distant.available() == [note.pk]

    def test_the_age_is_the_policys(self, team: Cast, settings: Any) -> None:
        landed(team, to=["distant"])
        distant = Machine(team)
        distant.report()
        settings.TIKITAKA_POLICY = dataclasses.replace(DEFAULT, confirm_age_s=30)
        assert distant.manifest()["report_s"] == 10
        RemoteFile.objects.update(confirmed_at=clock.now() - timedelta(seconds=31))
        assert distant.available() == []

    def test_not_while_its_machine_holds_an_earlier_state_of_the_file(self, team: Cast) -> None:
        first = landed(team, to=["distant"], severe=True)
        distant = Machine(team)
        distant.report()
        assert distant.available() == [first.pk]
        landed(team, "Name every bucket after its owner.", to=["distant"], severe=True)
        assert distant.available() == [], "the file that was confirmed is not the file of now"
        distant.report()
        assert len(distant.available()) == 2

    def test_a_file_that_is_wrong_here_is_not_available_there(self, team: Cast) -> None:
        landed(team, to=["distant"])
        distant = Machine(team)
        distant.report()
        (team.folder("distant") / SKILL).write_text("somebody was here")
        available, drifted = available_notes(agent=distant.agent.pk)
        assert available == []
        assert [item.file for item in drifted] == [SKILL]

    def test_an_agent_that_works_here_needs_no_confirmation(self, team: Cast) -> None:
        note = landed(team, to=["backend"])
        assert available_notes(agent=team.agents["backend"].pk)[0] == [note.pk]
        assert Landing.objects.get().confirmed_at is not None

    def test_a_note_that_was_revoked_leaves_the_manifest(self, team: Cast) -> None:
        note = landed(team, to=["distant"])
        distant = Machine(team)
        distant.report()
        revoke(actor=team.reviewer, note=note, words="wrong")
        assert distant.available() == []
        wake_removals()
        remove_landing(landing=Landing.objects.get().pk, policy=DEFAULT)
        assert set(distant.files()) == {"AGENTS.md"}


class TestReports:
    def test_the_same_twice_changes_nothing_but_the_time(self, team: Cast) -> None:
        landed(team, to=["distant"])
        distant = Machine(team)
        rows = [
            list(RemoteFile.objects.order_by("file").values_list("pk", "digest")) for _ in range(2) if distant.report()
        ]
        assert rows[0] == rows[1]
        assert len(rows[0]) == 2

    def test_what_the_manifest_does_not_give_is_named_and_not_kept(self, team: Cast) -> None:
        distant = Machine(team)
        version = distant.manifest()["version"]
        strange = ["../../etc/passwd", ".agents/skills/another/SKILL.md", "/AGENTS.md"]
        answer = distant.send(version, [{"path": path, "digest": "a" * 64} for path in strange]).json()
        assert answer["unknown"] == strange
        assert answer["confirmed"] == []
        assert not RemoteFile.objects.exists()

    @pytest.mark.parametrize("digest", ["f" * 64, "", None])
    def test_another_file_there_is_an_incident_until_it_is_cured(self, team: Cast, digest: str | None) -> None:
        landed(team, to=["distant"])
        distant = Machine(team)
        distant.report()
        subject = f"agent {distant.agent.pk} {SKILL} on its machine"

        answer = distant.report(skill=digest)

        assert [row["path"] for row in answer["wrong"]] == [SKILL]
        assert drift() == [subject]
        assert distant.available() == []
        reconcile()
        assert drift() == [subject], "what lies here says nothing about there"
        distant.report(skill=digest)
        assert Incident.objects.get(subject=subject).count == 2

        distant.report()

        assert drift() == []
        assert len(distant.available()) == 1

    def test_a_file_that_left_the_manifest_is_no_incident_any_more(self, team: Cast) -> None:
        note = landed(team, to=["distant"])
        distant = Machine(team)
        distant.report(skill="f" * 64)
        assert len(drift()) == 1
        revoke(actor=team.reviewer, note=note, words="wrong")
        remove_landing(landing=Landing.objects.get().pk, policy=DEFAULT)
        distant.report()
        assert drift() == []

    def test_a_machine_that_is_behind_is_not_wrong(self, team: Cast) -> None:
        distant = Machine(team)
        earlier = distant.manifest()["version"]
        landed(team, to=["distant"])
        answer = distant.report(version=earlier, skill=None)
        assert answer["wrong"] == []
        assert answer["version"] != earlier
        assert drift() == []

    def test_a_note_that_lands_between_reading_and_reporting_is_not_confirmed_by_that(self, team: Cast) -> None:
        distant = Machine(team)
        version = distant.manifest()["version"]
        files = [{"path": row["path"], "digest": row["digest"]} for row in distant.files().values()]
        landed(team, to=["distant"], severe=True)
        answer = distant.send(version, files).json()
        assert (answer["confirmed"], answer["wrong"]) == ([], [])
        assert Landing.objects.get().confirmed_at is None

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"files": []}, "version"),
            ({"version": "x", "files": []}, "version"),
            ({"version": "0" * 64}, "files"),
            ({"version": "0" * 64, "files": [{"path": "AGENTS.md", "digest": "x"}]}, "files.0.digest"),
            (
                {"version": "0" * 64, "files": [{"path": "AGENTS.md", "digest": "", "fault": "Two words"}]},
                "files.0.fault",
            ),
            ({"version": "0" * 64, "files": [{"path": "A\u0000", "digest": ""}]}, "files.0.path"),
            ({"version": "0" * 64, "files": [{"path": "AGENTS.md", "digest": ""}] * 2}, "files"),
            ({"version": "0" * 64, "files": [{"path": f"{n}", "digest": ""} for n in range(502)]}, "files"),
        ],
    )
    def test_a_wrong_body_is_named(self, team: Cast, body: Any, field: str) -> None:
        distant = Machine(team)
        answer = send(distant.client, "POST", address(distant.agent, report=True), body)
        assert answer.status_code == 400
        assert any(name.startswith(field) for name in answer.json()["fields"]), answer.json()


class TestRegistering:
    def test_over_rest(self, team: Cast) -> None:
        client = machine(service_token(team.owner, team.organization))
        where = reverse("api:team-agents", args=[team.team.pk])
        answer = send(client, "POST", where, {"name": "Far", "workspace": "remote"})
        assert (answer.status_code, answer.json()["workspace"]) == (201, "remote")
        assert Workspace.objects.get(agent=answer.json()["id"]).is_remote
        assert send(client, "POST", where, {"name": "Near"}).json()["workspace"] == "here"
        assert "workspace" in send(client, "POST", where, {"name": "No", "workspace": "moon"}).json()["fields"]

    def test_not_for_a_program_that_runs_here(self, team: Cast) -> None:
        from apps.conductor.teams import register_agent
        from tikitaka.errors import Invalid

        for how in ({"delivery": "remote"}, {"delivery": "moon"}):
            with pytest.raises(Invalid) as refused:
                register_agent(actor=team.operator, team=team.team, name="Far", **how)
            assert set(refused.value.fields) == {"workspace"}


@pytest.mark.django_db(transaction=True)
class TestWaiting:
    def test_ends_when_something_changes(self, committed_cast: Cast) -> None:
        remote_agent(committed_cast)
        distant = Machine(committed_cast)
        known = distant.fetch()["ETag"]
        answers: list[Any] = []

        def wait() -> None:
            answers.append((distant.fetch(known=known, wait_s=20), time.monotonic()))
            connections.close_all()

        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(1)
        assert answers == []
        landed(committed_cast, to=["distant"])
        done = time.monotonic()
        waiter.join(120)

        ((answer, at),) = answers
        assert answer.status_code == 200
        assert RULE in answer.content.decode()
        assert at - done < 5

    def test_ends_with_the_same_when_nothing_does(self, committed_cast: Cast) -> None:
        remote_agent(committed_cast)
        distant = Machine(committed_cast)
        known = distant.fetch()["ETag"]
        began = time.monotonic()
        assert distant.fetch(known=known, wait_s=1).status_code == 304
        assert 0.9 < time.monotonic() - began < 10

    def test_a_file_that_is_only_written_again_wakes_nobody(self, committed_cast: Cast) -> None:
        remote_agent(committed_cast)
        distant = Machine(committed_cast)
        known = distant.fetch()["ETag"]
        touch = threading.Timer(
            0.3, lambda: (GovernedFile.objects.update(written_at=clock.now()), connections.close_all())
        )
        touch.start()
        answer = distant.fetch(known=known, wait_s=2)
        touch.join()
        assert answer.status_code == 304


@pytest.mark.django_db(transaction=True)
def test_what_an_attempt_is_told_to_have_is_what_its_machine_confirmed(committed_cast: Cast) -> None:
    remote_agent(committed_cast)
    distant = Machine(committed_cast)
    note = landed(committed_cast, to=["distant"])
    orchestrator = machine(service_token(committed_cast.owner, committed_cast.organization))
    team = str(committed_cast.team.pk)
    plan = [{"agentIndex": 4, "instruction": "do it"}]

    def told() -> list[str]:
        send(orchestrator, "POST", reverse("api:tasks"), {"team": team, "prompt": "Build it.", "plan": plan})
        lease = send(orchestrator, "POST", reverse("api:node-lease"), {"team": team, "wait_s": 10}).json()
        done = reverse("api:attempt-complete", args=[lease["attempt"]])
        assert send(machine(lease["token"]), "POST", done, {"output": "done"}).status_code == 200
        return list(ContextSnapshot.objects.get(attempt=lease["attempt"]).available_notes)

    with embedded_pool() as pool:
        assert told() == []
        distant.report()
        assert told() == [str(note.pk)]
        distant.report(skill="f" * 64)
        assert told() == []
        assert pool.drain(120)
