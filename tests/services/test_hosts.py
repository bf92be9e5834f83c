"""Two hosts with a workspace root each, real workers on both: files of a team are touched on its host alone."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from apps.audit.doctor import hosts as checks
from apps.audit.doctor import installation
from apps.conductor import broker, relocation
from apps.conductor.fitness import hosts_fault
from apps.conductor.models import HostSeen
from apps.conductor.relocation import move_team
from apps.conductor.story import submit
from apps.conductor.sweep import reconcile
from apps.conductor.teams import pause_team, render
from apps.memory.models import Landing, Note
from apps.memory.services.review import revoke
from apps.tasks.models import Attempt, Task
from apps.tasks.services.claim import claim_ready
from apps.teams.models import Team, Workspace
from apps.teams.services.teams import bind_team, create_team
from tests.services.test_workers import SHORT_LEASES
from tests.support.cast import Cast, add_agent, assemble
from tests.support.hosts import Hosts
from tests.support.notes import approved
from tests.support.plans import node
from tests.support.threads import closing_connections, waits_for_a_lock
from tests.support.workers import BROKER, Fleet, empty_broker, fleet, wait_until
from tikitaka.hosts import WorkspaceElsewhere
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("alpha", "beta")


class Installation:
    """The site sees no root; each host has a sweeper and workers that see their own."""

    def __init__(self, cast: Cast, hosts: Hosts, workers: Fleet) -> None:
        self.cast, self.hosts, self.workers = cast, hosts, workers
        second = create_team(actor=cast.operator, organization=cast.organization, name="Second", host="beta")
        self.casts = {"alpha": cast, "beta": with_team(cast, second)}

    def environment(self, host: str) -> dict[str, str]:
        return {
            "TIKITAKA_HOST": host,
            "TIKITAKA_HOSTS": ",".join(NAMES),
            "TIKITAKA_WORKSPACES": str(self.hosts.root(host)),
        }

    def start(self, *hosts: str) -> None:
        """What is anybody's, and two workers on each host."""
        self.workers.start("control,embed", size=2, **self.environment(""))
        for host in hosts:
            self.start_host(host)

    def start_host(self, host: str) -> None:
        self.workers.start(f"control.{host}", size=2, **self.environment(host))
        self.workers.start(f"nodes.{host}", **self.environment(host))

    def sweep(self, host: str) -> None:
        self.workers.sweep(**self.environment(host))

    def submit(self, host: str, *plan: dict[str, Any]) -> Task:
        cast = self.casts[host]
        return submit(actor=cast.operator, team=cast.team, prompt="x", plan=list(plan or [node(1), node(2)])).task

    def wait(self, *tasks: Task, seconds: float = 60) -> None:
        settled = Task.objects.filter(pk__in=[task.pk for task in tasks], settled_at__isnull=False)
        wait_until(lambda: settled.count() == len(tasks), seconds, lambda: str(list(Task.objects.values("status"))))


def with_team(cast: Cast, team: Team) -> Cast:
    agents = {name: add_agent(cast.operator, team, name.title(), "builds things", "careful") for name in cast.agents}
    return replace(cast, team=team, agents=agents)


@pytest.fixture
def installed(settings: Any, tmp_path: Path, transactional_db: None) -> Iterator[Installation]:
    hosts = Hosts(settings, tmp_path, NAMES)
    with fleet(tmp_path) as workers:
        cast = assemble()
        assert cast.team.host == "alpha"
        yield Installation(cast, hosts, workers)


def folders(hosts: Hosts, host: str) -> set[str]:
    """The teams that have anything in a host's root."""
    return {path.name for path in hosts.root(host).glob("*/*")}


def rendered() -> bool:
    return not Workspace.objects.filter(rendered_digest="", agent__team__name="Second").exists()


def test_each_host_does_the_work_of_its_own_teams(installed: Installation) -> None:
    """Registering, running, landing and removing, from a process that sees no root at all."""
    casts, hosts = installed.casts, installed.hosts
    installed.start(*NAMES)
    installed.sweep("alpha")
    installed.sweep("beta")
    wait_until(lambda: not Workspace.objects.filter(rendered_digest="").exists(), 90)

    installed.wait(*(installed.submit(host) for host in NAMES))
    assert Task.objects.filter(status="completed").count() == 2

    notes = {host: approved(casts[host], f"Uploads are checked by {host}.") for host in NAMES}
    for note in notes.values():
        broker.BROKER.wake("land", note.pk)
    wait_until(lambda: Note.objects.filter(status="active").count() == 2, 90, lambda: str(list(Note.objects.values())))
    for host, other in (NAMES, NAMES[::-1]):
        (skill,) = hosts.root(host).rglob("SKILL.md")
        assert f"Uploads are checked by {host}." in skill.read_text()
        assert str(casts[host].team.pk) in folders(hosts, host)
        assert str(casts[other].team.pk) not in folders(hosts, host)

    for host in NAMES:
        revoke(actor=casts[host].reviewer, note=Note.objects.get(pk=notes[host].pk), words="wrong")
    for landing in Landing.objects.all():
        broker.BROKER.wake("remove", landing.pk)
    wait_until(lambda: Landing.objects.filter(status="removed").count() == 2, 90)
    assert not [*hosts.root("alpha").rglob("SKILL.md"), *hosts.root("beta").rglob("SKILL.md")]
    assert not hosts.root("").exists(), "the site wrote files"
    for host in NAMES:
        hosts.see(host)
        assert reconcile() == 0


def test_a_message_that_reaches_the_wrong_host_changes_nothing_there(installed: Installation) -> None:
    """The host's own workers are not there yet, so that the other one must let go of it."""
    hosts, cast = installed.hosts, installed.casts["alpha"]
    installed.start("beta")
    installed.sweep("beta")
    wait_until(rendered, 90)
    before = hosts.files("beta")
    task = installed.submit("alpha")
    note = approved(cast, severe=True)  # nobody has seen yet which skills the agent has
    for job, subject, queue in (
        ("dispatch", cast.team.pk, "nodes.beta"),
        ("land", note.pk, "control.beta"),
        ("render", cast.agents["backend"].pk, "control.beta"),
    ):
        broker.app.send_task(f"tikitaka.{job}", args=[str(subject)], queue=queue)
    logs = installed.workers.logs
    for job in ("dispatch", "land", "render"):
        wait_until(lambda job=job: said(logs, "beta", job), 90)
    assert not Attempt.objects.exists()
    assert (Note.objects.get().status, Landing.objects.count()) == ("approved", 0)
    assert hosts.files("beta") == before
    assert not hosts.root("alpha").exists()

    installed.start_host("alpha")
    installed.wait(task)
    wait_until(lambda: Note.objects.get().status == "active", 90)
    assert hosts.files("beta") == before


def said(logs: Path, host: str, job: str) -> bool:
    """A worker of the host has sent a message on."""
    lines = [line for file in logs.glob(f"worker-*.{host}-*.log") for line in file.read_text().splitlines()]
    return any('"workspace_elsewhere"' in line and f'"{job}"' in line for line in lines)


def test_lost_messages_are_repaired_by_the_sweeper_of_the_right_host(installed: Installation) -> None:
    """The other one's sweep does what is anybody's, and sends nothing to a host that is not its own."""
    cast, hosts = installed.casts["alpha"], installed.hosts
    task = installed.submit("alpha")
    note = approved(cast, severe=True)  # nobody has seen yet which skills the agent has
    empty_broker(installed.workers.prefix)
    installed.start("beta")
    installed.sweep("beta")
    wait_until(lambda: Task.objects.get(pk=task.pk).segment_id is not None, 90)
    wait_until(lambda: waiting(installed, "nodes.alpha") == 1, 90)  # assigning woke it
    empty_broker(installed.workers.prefix)

    for _ in range(3):
        installed.sweep("beta")
    assert (waiting(installed, "nodes.alpha"), waiting(installed, "control.alpha")) == (0, 0)
    installed.start_host("alpha")
    assert Note.objects.get(pk=note.pk).status == "approved"
    assert not hosts.files("alpha")

    installed.sweep("alpha")
    installed.wait(task)
    wait_until(lambda: Note.objects.get(pk=note.pk).status == "active", 90)
    assert str(cast.team.pk) in folders(hosts, "alpha")
    assert str(cast.team.pk) not in folders(hosts, "beta")


def waiting(installed: Installation, queue: str) -> int:
    """How many messages nobody has taken yet."""
    return int(redis.Redis.from_url(BROKER).llen(f"{installed.workers.prefix}{queue}"))


def test_nodes_of_a_killed_worker_are_not_run_by_the_other_host(installed: Installation) -> None:
    """The other host may end the dead attempt; the next one begins where the files are."""
    installed.workers.environment |= SHORT_LEASES
    installed.start("beta")
    installed.start_host("alpha")
    (killed,) = installed.workers.workers[-1:]
    task = installed.submit("alpha", node(2, "do: think busy\ndo: sleep 6\ndo: say done"))
    wait_until(lambda: Attempt.objects.filter(status="running", spans__isnull=False).exists(), 90)
    before = installed.hosts.files("beta")
    killed.kill()
    killed.wait(timeout=120)

    def interrupted() -> bool:
        installed.sweep("beta")
        return Attempt.objects.filter(status="interrupted").exists()

    wait_until(interrupted, 90)
    for _ in range(2):
        installed.sweep("beta")
    assert Attempt.objects.count() == 1
    assert installed.hosts.files("beta") == before

    installed.workers.start("nodes.alpha", **installed.environment("alpha"))
    installed.sweep("alpha")
    installed.wait(task, seconds=60)
    assert list(Attempt.objects.order_by("number").values_list("status", flat=True)) == ["interrupted", "completed"]


def test_a_claim_that_waited_for_a_move_is_refused(installed: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had read where the team lies before the team was paused; the lock it waits for is the one of the move."""
    cast, hosts = installed.casts["alpha"], installed.hosts
    hosts.see("alpha")
    for agent in cast.agents.values():
        render(agent.pk)
    submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)])
    pause_team(actor=cast.operator, team=cast.team, paused=True)
    shutil.copytree(hosts.root("alpha"), hosts.root("beta"), symlinks=True)
    binding, go_on = threading.Event(), threading.Event()

    def bind_later(**options: Any) -> None:
        binding.set()
        go_on.wait(90)
        bind_team(**options)

    monkeypatch.setattr(relocation, "bind_team", bind_later)
    monkeypatch.setattr(relocation, "_compare", lambda agents: [])
    hosts.see("beta")
    with ThreadPoolExecutor(2) as threads:
        moved = threads.submit(closing_connections, move_team, actor=cast.operator, team=cast.team, host="beta")
        assert binding.wait(90)
        hosts.see("alpha")
        claimed = threads.submit(
            closing_connections, claim_ready, team=cast.team.pk, organization=cast.organization.pk, policy=DEFAULT
        )
        wait_until(lambda: waits_for_a_lock() or claimed.done(), 90)
        go_on.set()
        assert moved.result(90) == []
        with pytest.raises(WorkspaceElsewhere):
            claimed.result(90)
    assert not Attempt.objects.exists()


class TestWords:
    def test_who_serves_what_is_told_by_the_queues_and_by_what_was_heard(self, installed: Installation) -> None:
        installed.workers.start("control,embed,flush", size=2, **installed.environment(""))
        installed.start_host("alpha")
        wait_until(HostSeen.objects.filter(name="alpha").exists, 90)
        assert {diagnosis.what for diagnosis in installation.broker()} == {
            "Nobody serves the queue control.beta.",
            "Nobody serves the queue nodes.beta.",
        }
        assert [diagnosis.what for diagnosis in checks.silent()] == ["Nobody works for the teams on host beta."]
        assert hosts_fault() == "silent"
        installed.start_host("beta")
        wait_until(HostSeen.objects.filter(name="beta").exists, 90)
        assert [*installation.broker(), *checks.silent()] == []
        assert hosts_fault() is None

    def test_a_worker_that_would_serve_another_host_does_not_start(self, installed: Installation) -> None:
        with pytest.raises(AssertionError, match=r"may not serve nodes\.beta: it sees the files on host alpha"):
            installed.workers.start("nodes.beta", **installed.environment("alpha"))

    @pytest.mark.parametrize("values", [{"TIKITAKA_HOST": "a_b"}, {"TIKITAKA_HOSTS": "alpha,be ta"}])
    def test_a_name_that_is_none_is_refused_by_its_variable(
        self, installed: Installation, values: dict[str, str]
    ) -> None:
        with pytest.raises(AssertionError, match=f"{next(iter(values))} must be letters"):
            installed.workers.start("control", **values)
