"""Several workspace roots: where a team is placed, who may touch its files, and which queue its work goes to."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from structlog.testing import capture_logs

from apps.audit.doctor import hosts as checks
from apps.conductor import broker, fitness, hearing, teams
from apps.conductor.hosts import FILE_JOBS, host_of
from apps.conductor.models import Incident
from apps.conductor.pool import embedded_pool
from apps.conductor.story import land, remove, submit
from apps.conductor.sweep import reconcile, sweep
from apps.ledger import clock
from apps.memory.models import Landing, Note, SkillCatalogue
from apps.memory.services.landing import land as landing_service
from apps.memory.services.landing import write as write_service
from apps.memory.services.landing.skills import keep_catalogue, own_skills
from apps.memory.services.review import revoke
from apps.tasks.models import AgentLease, Attempt
from apps.tasks.services.claim import claim_ready
from apps.teams.hosts import for_new_team
from apps.teams.models import Team, Workspace
from apps.teams.selectors import workspace_folder, workspace_of
from apps.teams.services.teams import archive_team, create_team
from config.broker import QUEUES, celery_settings
from config.hosts import host_name, host_names
from tests.support.cast import Cast, assemble
from tests.support.hosts import Hosts, Woken, bindings, move
from tests.support.notes import approved, landed, verdicts
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.errors import Invalid
from tikitaka.hosts import WorkspaceElsewhere, host_of_queue, host_queue
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db


@pytest.fixture
def hosts(settings: Any, tmp_path: Path) -> Hosts:
    return Hosts(settings, tmp_path, ("alpha", "beta"))


@pytest.fixture
def placed(hosts: Hosts, db: None) -> Cast:
    """The team of the cast on alpha, the stranger's on beta, both made by processes that see their roots."""
    hosts.see("alpha")
    cast = assemble()
    assert (cast.team.host, cast.other_team.host) == ("alpha", "beta")
    hosts.see("beta")
    sweep_here()
    hosts.see("alpha")
    return cast


def sweep_here() -> dict[str, int]:
    """A sweep that does what it finds, as `manage.py sweep` does."""
    woken = Woken()
    found = sweep()
    for agent in woken.of("render"):
        teams.render(agent)
    for note in woken.of("land"):
        land(note)
    for landing in woken.of("remove"):
        remove(landing)
    return dict(found)


class TestNames:
    @pytest.mark.parametrize("name", ["a", "host-1", "Node.2", "x" * 63, "7"])
    def test_what_may_be_a_name(self, name: str) -> None:
        assert host_name("TIKITAKA_HOST", name) == name

    @pytest.mark.parametrize("name", ["x" * 64, "a b", "a_b", "-a", ".a", "a/b", "ä", "a\n", "a:1", "٣"])
    def test_what_may_not(self, name: str) -> None:
        with pytest.raises(ImproperlyConfigured, match="TIKITAKA_HOST must be letters"):
            host_name("TIKITAKA_HOST", name)

    def test_the_list_is_checked_and_falls_back_to_here(self) -> None:
        assert host_names("TIKITAKA_HOSTS", ["a", "b", "a"], own="") == ("a", "b")
        assert host_names("TIKITAKA_HOSTS", [], own="c") == ("c",)
        assert host_names("TIKITAKA_HOSTS", [], own="") == ()
        with pytest.raises(ImproperlyConfigured, match="TIKITAKA_HOSTS"):
            host_names("TIKITAKA_HOSTS", ["a", "b_"], own="")

    def test_a_queue_names_its_host(self) -> None:
        assert [host_of_queue(host_queue("nodes", host)) for host in ("", "a", "a.b")] == ["", "a", "a.b"]


class TestPlacing:
    def test_one_shared_root_has_no_name(self, cast: Cast) -> None:
        assert {cast.team.host, cast.other_team.host} == {""}

    def test_a_new_team_goes_where_the_fewest_are(self, placed: Cast) -> None:
        made = [create_team(actor=placed.operator, organization=placed.organization, name=f"T{n}") for n in range(3)]
        assert [team.host for team in made] == ["alpha", "beta", "alpha"]
        archive_team(actor=placed.operator, team=made[0])
        archive_team(actor=placed.operator, team=made[2])
        assert for_new_team() == "alpha"

    def test_or_where_it_is_told_to(self, placed: Cast) -> None:
        def make(host: str) -> Team:
            return create_team(actor=placed.operator, organization=placed.organization, name=f"On {host}", host=host)

        assert make("beta").host == "beta"
        with pytest.raises(Invalid, match="host: is not one of TIKITAKA_HOSTS"):
            make("gamma")

    def test_the_ledger_says_where_each_workspace_lies(self, placed: Cast) -> None:
        bound = bindings(placed)
        assert set(bound) == {"alpha"}


class TestFilesElsewhere:
    """A process of beta, and a team of alpha."""

    def test_there_is_no_path_to_them(self, hosts: Hosts, placed: Cast) -> None:
        row = workspace_of(placed.agents["backend"].pk)
        assert workspace_folder(row).is_dir()
        hosts.see("beta")
        with pytest.raises(WorkspaceElsewhere) as refused:
            workspace_folder(row)
        assert (refused.value.code, refused.value.host) == ("workspace_elsewhere", "alpha")

    def test_no_node_is_claimed(self, hosts: Hosts, placed: Cast) -> None:
        submit(actor=placed.operator, team=placed.team, prompt="x", plan=[node(1)])
        hosts.see("beta")
        with pytest.raises(WorkspaceElsewhere):
            claim_ready(team=placed.team.pk, organization=placed.team.organization_id, policy=DEFAULT)
        assert not Attempt.objects.exists()
        assert not AgentLease.objects.exists()

    def test_no_node_is_claimed_with_what_was_read_before_a_move(self, placed: Cast) -> None:
        submit(actor=placed.operator, team=placed.team, prompt="x", plan=[node(1)])
        move(placed.team, "beta")
        with pytest.raises(WorkspaceElsewhere):
            claim_ready(team=placed.team.pk, organization=placed.organization.pk, policy=DEFAULT)
        assert not Attempt.objects.exists()

    def test_no_note_lands(self, hosts: Hosts, placed: Cast) -> None:
        note = approved(placed)
        hosts.see("beta")
        before = hosts.files("beta")
        with pytest.raises(WorkspaceElsewhere):
            land(note.pk)
        note.refresh_from_db()
        assert (note.status, note.landing_claim, note.landing_until) == ("approved", 0, None)
        assert not Landing.objects.exists()
        assert hosts.files("beta") == before

    def test_the_claim_itself_asks(self, hosts: Hosts, placed: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        note = approved(placed)
        hosts.see("beta")
        monkeypatch.setattr(landing_service, "require_here", lambda host: None)
        assert landing_service._claim(note.pk) is None
        note.refresh_from_db()
        assert note.landing_claim == 0

    @pytest.mark.parametrize(
        ("module", "step", "left"),
        [
            (landing_service, "_intend", set()),
            (landing_service, "write_landing", {"intended"}),
            (write_service, "open_workspace", {"failed"}),
        ],
    )
    def test_a_move_in_the_middle_of_a_landing(
        self, hosts: Hosts, placed: Cast, monkeypatch: pytest.MonkeyPatch, module: Any, step: str, left: set[str]
    ) -> None:
        note = approved(placed)
        before, original = hosts.files("alpha"), getattr(module, step)

        def after_a_move(*args: Any, **options: Any) -> Any:
            move(placed.team, "beta")
            return original(*args, **options)

        monkeypatch.setattr(module, step, after_a_move)
        with pytest.raises(WorkspaceElsewhere):
            land(note.pk)
        assert hosts.files("alpha") == before
        assert set(Landing.objects.values_list("status", flat=True)) == left

    def test_nothing_is_taken_out(self, hosts: Hosts, placed: Cast) -> None:
        note = landed(placed)
        Woken()
        revoke(actor=placed.reviewer, note=note, words="wrong")
        landing = Landing.objects.get()
        before = hosts.files("alpha")
        hosts.see("beta")
        with pytest.raises(WorkspaceElsewhere):
            remove(landing.pk)
        landing.refresh_from_db()
        assert (landing.status, Incident.objects.count()) == ("landed", 0)
        assert hosts.files("alpha") == before

    def test_a_pool_that_is_told_to_leaves_them_alone(self, hosts: Hosts, transactional_db: None) -> None:
        hosts.see("alpha")
        placed = assemble()
        note = approved(placed)
        hosts.see("beta")
        before = hosts.files("alpha"), hosts.files("beta")
        with embedded_pool(runtimes=ScriptedRuntime(lambda launch: "done")) as pool:
            submit(actor=placed.operator, team=placed.team, prompt="x", plan=[node(1)])
            pool.wake("land", note.pk)
            pool.wake("render", placed.agents["backend"].pk)
            assert pool.drain(120)
        assert not Attempt.objects.exists()
        assert Note.objects.get(pk=note.pk).status == "approved"
        assert (hosts.files("alpha"), hosts.files("beta")) == before


class TestFromTheWeb:
    """A process that sees no team's root registers, changes, edits; the host does what touches files."""

    @pytest.fixture
    def web(self, hosts: Hosts, db: None) -> Cast:
        hosts.see("")
        self.woken = Woken()
        return assemble()

    def test_an_agent_is_rendered_by_its_host(self, hosts: Hosts, web: Cast) -> None:
        backend = web.agents["backend"]
        assert backend.pk in self.woken.of("render")
        assert not hosts.root("").exists()
        assert not hosts.root("alpha").exists()

        hosts.see("alpha")
        for _ in range(2):
            teams.render(backend.pk)
        assert "api database validation" in (web.folder("backend") / "AGENTS.md").read_text()
        assert (web.folder("backend") / "code").is_symlink()

        hosts.see("")
        teams.change_agent(actor=web.operator, agent=backend, description="x", instructions="never guess")
        hosts.see("alpha")
        assert "never guess" not in (web.folder("backend") / "AGENTS.md").read_text()
        assert sweep_here()["unrendered_agents"] == 3
        assert "never guess" in (web.folder("backend") / "AGENTS.md").read_text()
        assert "unrendered_agents" not in sweep_here()

    def test_only_the_sweep_of_the_right_host_repairs_a_lost_message(self, hosts: Hosts, web: Cast) -> None:
        hosts.see("beta")
        found = sweep_here()
        assert (found["unrendered_agents"], found["left_to_other_hosts"]) == (2, 3)
        assert not hosts.root("alpha").exists()
        hosts.see("alpha")
        assert sweep_here()["unrendered_agents"] == 3
        assert sum(name.endswith("AGENTS.md") for name in hosts.files("alpha")) == 3

    def test_a_host_that_cannot_write_opens_the_incident_and_tries_again(self, hosts: Hosts, web: Cast) -> None:
        backend = web.agents["backend"]
        hosts.see("alpha")
        sweep_here()
        Workspace.objects.filter(agent=backend).update(rendered_digest="old")
        hosts.root("alpha").rename(hosts.root("away"))
        sweep_here()
        (incident,) = Incident.objects.filter(closed_at=None)
        assert (incident.kind, incident.subject) == ("drift", f"agent {backend.pk} AGENTS.md")
        assert not hosts.root("alpha").exists(), "a disk that is not mounted is not written beside"
        hosts.root("away").rename(hosts.root("alpha"))
        sweep_here()
        assert not Incident.objects.filter(closed_at=None).exists()

    def test_instructions_that_do_not_fit_change_nothing(self, web: Cast, settings: Any) -> None:
        settings.TIKITAKA_POLICY = replace(DEFAULT, instructions_file_bytes=1_024)
        backend = web.agents["backend"]
        with pytest.raises(Invalid, match="do not fit"):
            teams.change_agent(actor=web.operator, agent=backend, description="x", instructions="y" * 2_000)
        backend.refresh_from_db()
        assert backend.instructions == "api database validation integration"

    def test_a_note_is_placed_by_what_the_host_saw(self, hosts: Hosts, web: Cast) -> None:
        assert own_skills(agent=web.agents["backend"].pk) is None
        hosts.see("alpha")
        sweep_here()
        hosts.see("")
        assert own_skills(agent=web.agents["backend"].pk) == []
        note = approved(web)
        assert verdicts(note)["backend"] == ("granted", "")
        hosts.see("alpha")
        assert sweep_here()["unlanded_notes"] == 1
        hosts.see("")
        (skill,) = own_skills(agent=web.agents["backend"].pk) or []
        assert (skill.key, skill.ours, skill.description) == ("upload-limits", True, "When you touch uploads")
        revoke(actor=web.reviewer, note=Note.objects.get(), words="wrong")
        hosts.see("alpha")
        sweep_here()
        hosts.see("")
        assert own_skills(agent=web.agents["backend"].pk) == []

    def test_what_is_kept_of_a_planted_skill_is_clean(self, hosts: Hosts, web: Cast) -> None:
        hosts.see("alpha")
        sweep_here()
        secret = "ghp_" + secrets.token_hex(18)
        skill = web.folder("backend") / ".agents" / "skills" / "planted" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f'---\nname: planted\ndescription: "a\\0b \\ud800 {secret}"\n---\nx\n')
        keep_catalogue(agent=web.agents["backend"].pk)
        hosts.see("")
        (kept,) = own_skills(agent=web.agents["backend"].pk) or []
        assert kept.key == "planted"
        assert not {"\0", "\ud800"} & set(kept.description)
        assert secret not in kept.description

    def test_skills_that_cannot_be_read_are_not_guessed(self, hosts: Hosts, web: Cast) -> None:
        hosts.see("alpha")
        sweep_here()
        shutil.rmtree(web.folder("backend"))
        reconcile()
        hosts.see("")
        assert own_skills(agent=web.agents["backend"].pk) is None
        assert not SkillCatalogue.objects.filter(agent=web.agents["backend"]).exists()

    def test_an_attempt_before_anybody_made_the_folders(self, hosts: Hosts, transactional_db: None) -> None:
        hosts.see("")
        Woken()
        cast = assemble()
        hosts.see("alpha")
        with embedded_pool(runtimes=ScriptedRuntime(lambda launch: str(launch.workspace.is_dir()))) as pool:
            submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(2)])
            assert pool.drain(120)
        assert Attempt.objects.get().output == "True"


class TestSweeping:
    def test_each_host_lands_and_removes_its_own(self, hosts: Hosts, placed: Cast) -> None:
        gone, waiting = landed(placed), approved(placed, "Invoices are numbered by the ledger.", key="invoices")
        Woken()
        revoke(actor=placed.reviewer, note=gone, words="wrong")
        hosts.see("beta")
        found = sweep_here()
        assert found["left_to_other_hosts"] == 2
        assert not {"unlanded_notes", "unremoved_landings"} & set(found)
        assert Note.objects.get(pk=waiting.pk).status == "approved"
        hosts.see("alpha")
        found = sweep_here()
        assert (found["unlanded_notes"], found["unremoved_landings"], found["left_to_other_hosts"]) == (1, 1, 0)
        assert Note.objects.get(pk=waiting.pk).status == "active"
        assert Landing.objects.get(note=gone).status == "removed"

    def test_running_tasks_are_woken_at_home_only(self, hosts: Hosts, placed: Cast) -> None:
        submit(actor=placed.operator, team=placed.team, prompt="x", plan=[node(1)])
        for host, woken_teams in (("beta", []), ("alpha", [placed.team.pk])):
            hosts.see(host)
            woken = Woken()
            sweep()
            assert woken.of("dispatch") == woken_teams

    def test_disk_is_compared_at_home_only(
        self, hosts: Hosts, placed: Cast, capsys: pytest.CaptureFixture[str]
    ) -> None:
        landed(placed)
        for file in placed.folder("backend").rglob("SKILL.md"):
            file.unlink()
        hosts.see("beta")
        call_command("reconcile")
        assert "1 of the teams lie on host alpha and are compared there." in capsys.readouterr().err
        hosts.see("alpha")
        with pytest.raises(CommandError, match="Incidents are open"):
            call_command("reconcile")

    def test_a_task_is_run_where_the_team_lies(self, hosts: Hosts, placed: Cast) -> None:
        hosts.see("beta")
        with pytest.raises(CommandError, match="workspace_elsewhere: run it on host alpha"):
            call_command("run_task", "x", team=str(placed.team.pk), user="operator")


class Sent:
    """A broker that keeps what it is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[tuple[str, str]] = []
        self._routes = celery_settings("memory://")["CELERY_TASK_ROUTES"]
        app = SimpleNamespace(conf=SimpleNamespace(task_routes=self._routes), send_task=self._keep)
        monkeypatch.setattr(broker, "app", app)

    def _keep(self, name: str, *, args: list[str], queue: str = "") -> None:
        self.messages.append((name.removeprefix("tikitaka."), queue or self._routes[name]["queue"]))


@pytest.mark.django_db(transaction=True)  # a job ends with its connection looked at, which nobody does in a transaction
class TestQueues:
    @pytest.fixture
    def sent(self, monkeypatch: pytest.MonkeyPatch) -> Sent:
        return Sent(monkeypatch)

    def wake_all(self, cast: Cast, note: Note, django_capture_on_commit_callbacks: Any) -> None:
        subjects = {
            "dispatch": cast.team.pk,
            "land": note.pk,
            "remove": Landing.objects.get().pk,
            "render": cast.agents["backend"].pk,
        }
        assert set(subjects) == FILE_JOBS
        with django_capture_on_commit_callbacks(execute=True):
            for jobs in QUEUES.values():
                for job in jobs:
                    broker.CeleryBinding().wake(job, subjects.get(job, note.pk))

    def test_what_touches_files_goes_to_its_host(
        self, placed: Cast, sent: Sent, django_capture_on_commit_callbacks: Any
    ) -> None:
        self.wake_all(placed, landed(placed), django_capture_on_commit_callbacks)
        expected = {job: queue for queue, jobs in QUEUES.items() for job in jobs}
        expected |= {"dispatch": "nodes.alpha", "land": "control.alpha"}
        expected |= {"remove": "control.alpha", "render": "control.alpha"}
        assert dict(sent.messages) == expected

    def test_one_shared_root_asks_nothing(
        self, cast: Cast, sent: Sent, django_capture_on_commit_callbacks: Any, django_assert_num_queries: Any
    ) -> None:
        self.wake_all(cast, landed(cast), django_capture_on_commit_callbacks)
        assert dict(sent.messages) == {job: queue for queue, jobs in QUEUES.items() for job in jobs}
        with django_assert_num_queries(0):
            assert host_of("dispatch", cast.team.pk) == ""

    def test_a_database_that_is_away_fails_nobody(
        self, placed: Cast, sent: Sent, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
    ) -> None:
        def away(job: str, subject: UUID) -> str:
            raise OperationalError

        monkeypatch.setattr(broker, "host_of", away)
        with django_capture_on_commit_callbacks(execute=True):
            broker.CeleryBinding().wake("dispatch", placed.team.pk)
        assert sent.messages == []

    @pytest.mark.parametrize("job", sorted(FILE_JOBS - {"dispatch"}))
    def test_a_message_on_the_wrong_host_is_sent_on(
        self, hosts: Hosts, placed: Cast, monkeypatch: pytest.MonkeyPatch, job: str
    ) -> None:
        note = landed(placed)
        subject = {"land": note.pk, "remove": Landing.objects.get().pk, "render": placed.agents["backend"].pk}[job]
        work = broker.app.tasks[f"tikitaka.{job}"]
        sent = Sent(monkeypatch)
        hosts.see("beta")
        with capture_logs() as logs:
            work(str(subject))
        assert sent.messages == [(job, "control.alpha")]
        assert [(line["code"], line["host"]) for line in logs] == [("workspace_elsewhere", "alpha")]

    def test_so_is_a_dispatch(self, hosts: Hosts, placed: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        submit(actor=placed.operator, team=placed.team, prompt="x", plan=[node(1)])
        work = broker.app.tasks["tikitaka.dispatch"]
        sent = Sent(monkeypatch)
        hosts.see("beta")
        work(str(placed.team.pk))
        assert sent.messages == [("dispatch", "nodes.alpha")]

    def test_a_message_without_a_host_does_not_go_round_in_circles(
        self, hosts: Hosts, placed: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        move(placed.team, "")
        work = broker.app.tasks["tikitaka.render"]
        sent = Sent(monkeypatch)
        hosts.see("beta")
        work(str(placed.agents["backend"].pk))
        assert sent.messages == []

    @pytest.mark.parametrize(
        ("host", "queues", "refused"),
        [
            ("alpha", ["control", "control.alpha", "nodes.alpha"], ""),
            ("", ["control", "nodes", "embed"], ""),
            ("alpha", ["nodes.beta"], "may not serve nodes.beta: it sees the files on host alpha"),
            ("", ["control", "control.beta"], "may not serve control.beta"),
        ],
    )
    def test_a_worker_serves_no_other_hosts_queue(
        self, settings: Any, host: str, queues: list[str], refused: str
    ) -> None:
        settings.TIKITAKA_HOST = host
        worker = SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=queues))))
        if not refused:
            broker._refuse_others_queues(sender=worker)
            return
        with pytest.raises(SystemExit, match=refused):
            broker._refuse_others_queues(sender=worker)


class TestHearing:
    def test_a_host_that_was_heard_from_is_not_silent(self, hosts: Hosts, placed: Cast) -> None:
        assert hearing.silent_hosts() == ["alpha", "beta"]
        hearing.say_here()
        hearing.say_here()
        assert hearing.silent_hosts() == ["beta"]
        hosts.see("")
        hearing.say_here()
        assert hearing.silent_hosts() == ["beta"]

    def test_a_silence_is_told_with_what_to_do(self, hosts: Hosts, placed: Cast, settings: Any) -> None:
        hearing.say_here()
        with clock.running_on(lambda: datetime.now(UTC) + timedelta(minutes=3)):
            told = {diagnosis.what: diagnosis for diagnosis in checks.silent()}
        assert set(told) == {f"Nobody works for the teams on host {name}." for name in ("alpha", "beta")}
        (diagnosis,) = checks.silent()
        assert diagnosis.needs_person
        assert "manage.py serve with TIKITAKA_HOST=beta" in diagnosis.do
        settings.TIKITAKA_BROKER_URL = "memory://"
        (diagnosis,) = checks.silent()
        assert "for the queues nodes.beta and control.beta" in diagnosis.do

    def test_a_host_without_teams_is_not_missed(self, hosts: Hosts, placed: Cast) -> None:
        hearing.say_here()
        archive_team(actor=placed.stranger, team=placed.other_team)
        assert hearing.silent_hosts() == []

    @pytest.mark.parametrize(("used", "needs_person"), [(True, False), (False, True)])
    def test_a_process_that_is_in_no_list(
        self, hosts: Hosts, placed: Cast, settings: Any, used: bool, needs_person: bool
    ) -> None:
        settings.TIKITAKA_HOST, settings.TIKITAKA_HOSTS = ("alpha" if used else "gamma"), ("beta",)
        (diagnosis,) = checks.unknown()
        assert diagnosis.needs_person is needs_person
        assert "TIKITAKA_HOST is not among TIKITAKA_HOSTS" in diagnosis.why

    def test_teams_from_before_the_roots_had_names(self, hosts: Hosts, placed: Cast, settings: Any) -> None:
        assert list(checks.unnamed()) == []
        move(placed.team, "")
        (diagnosis,) = checks.unnamed()
        assert diagnosis.what == "1 team in the root without a name."
        settings.TIKITAKA_HOSTS = ()
        assert list(checks.unnamed()) == []

    def test_readiness(self, hosts: Hosts, placed: Cast, settings: Any) -> None:
        def faults() -> dict[str, str]:
            return dict(Client().get("/readyz").json().get("faults", {}))

        assert faults() == {"hosts": "silent"}
        for name in hosts.names:
            hosts.see(name)
            hearing.say_here()
        assert faults() == {}
        settings.TIKITAKA_HOST = "gamma"
        assert faults() == {"hosts": "unknown"}

    def test_who_sees_no_root_needs_none(self, hosts: Hosts, placed: Cast) -> None:
        hosts.see("")
        hosts.root("").write_text("a file where others have a folder")
        assert fitness.workspaces_fault() is None
        hosts.see("alpha")
        assert fitness.workspaces_fault() is None
        hosts.root("alpha").rename(hosts.root("away"))
        assert fitness.workspaces_fault() == "missing"


class TestUpgrading:
    """Workspaces carried the name of a machine that nothing went by."""

    def test_a_team_keeps_the_name_on_which_its_workspaces_agree(self) -> None:
        migration = import_module("apps.teams.migrations.0003_hosts")
        rows = [
            ("kept", "alpha"),
            ("default", "localhost"),
            ("shared", "alpha"),
            ("shared", "beta"),
            ("odd", "no_name"),
        ]
        named: dict[str, str] = {}

        class Rows:
            def using(self, alias: str) -> Rows:
                assert alias == "moved_to"
                return self

            def values_list(self, *_: str) -> Rows:
                return self

            def distinct(self) -> list[tuple[str, str]]:
                return rows

            def filter(self, *, pk: str) -> SimpleNamespace:
                return SimpleNamespace(update=lambda host: named.update({pk: host}))

        models = SimpleNamespace(get_model=lambda *_: SimpleNamespace(objects=Rows()))
        editor = SimpleNamespace(connection=SimpleNamespace(alias="moved_to"))
        migration.name_hosts(models, editor)
        assert named == {"kept": "alpha"}
