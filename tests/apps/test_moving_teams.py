"""Moving a team to another host: refused while anything could still touch the old folders, recorded when done."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.conductor import teams
from apps.conductor.relocation import FoldersMissing, TeamHasWork, TeamNotPaused, move_team
from apps.conductor.story import land, submit
from apps.memory.models import Landing, Note
from apps.memory.services.landing import land as landing_service
from apps.memory.services.review import revoke
from apps.tasks.services.claim import claim_ready
from apps.teams.models import Team
from tests.support.cast import Cast, assemble
from tests.support.hosts import Hosts, Woken, bindings
from tests.support.notes import approved, landed
from tests.support.plans import node
from tikitaka.hosts import WorkspaceElsewhere
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db


@pytest.fixture
def hosts(settings: Any, tmp_path: Path) -> Hosts:
    return Hosts(settings, tmp_path, ("alpha", "beta"))


@pytest.fixture
def placed(hosts: Hosts, db: None) -> Cast:
    """The team of the cast lies on alpha."""
    hosts.see("alpha")
    cast = assemble()
    assert cast.team.host == "alpha"
    return cast


def copy(hosts: Hosts, cast: Cast) -> None:
    shutil.copytree(hosts.root("alpha"), hosts.root("beta"), symlinks=True, dirs_exist_ok=True)
    hosts.see("beta")


def go(cast: Cast, host: str = "beta") -> list[Any]:
    return move_team(actor=cast.operator, team=cast.team, host=host)


def test_the_whole_way(hosts: Hosts, placed: Cast) -> None:
    landed(placed)
    teams.pause_team(actor=placed.operator, team=placed.team, paused=True)
    copy(hosts, placed)
    assert go(placed) == []
    teams.pause_team(actor=placed.operator, team=Team.objects.get(pk=placed.team.pk), paused=False)
    waiting = approved(placed, "Invoices are numbered by the ledger.", key="invoices")
    land(waiting.pk)
    assert Note.objects.get(pk=waiting.pk).status == "active"
    bound = bindings(placed)
    assert bound == ["alpha"] * 3 + ["beta"] * 3


def test_by_the_command(hosts: Hosts, placed: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    landed(placed)
    teams.pause_team(actor=placed.operator, team=placed.team, paused=True)
    copy(hosts, placed)
    for file in hosts.root("beta").rglob("SKILL.md"):
        file.unlink()
    with pytest.raises(CommandError, match="reconcile --restore mends it"):
        call_command("move_team", str(placed.team.pk), "beta", user="operator")
    assert "Core lies on host beta now. Delete its folder on host alpha." in capsys.readouterr().out
    with pytest.raises(CommandError, match="wrong_state: the team lies on this host already"):
        call_command("move_team", str(placed.team.pk), "beta", user="operator")


def test_it_goes_only_onto_this_host(hosts: Hosts, placed: Cast) -> None:
    teams.pause_team(actor=placed.operator, team=placed.team, paused=True)
    with pytest.raises(WorkspaceElsewhere):
        go(placed)
    assert Team.objects.get(pk=placed.team.pk).host == "alpha"


def test_it_goes_only_by_who_may_manage_teams(hosts: Hosts, placed: Cast) -> None:
    teams.pause_team(actor=placed.operator, team=placed.team, paused=True)
    copy(hosts, placed)
    with pytest.raises(CommandError, match=r"not_found|forbidden"):
        call_command("move_team", str(placed.team.pk), "beta", user="auditor")
    with pytest.raises(CommandError, match="nobody logs in as nemo"):
        call_command("move_team", str(placed.team.pk), "beta", user="nemo")


def test_it_goes_only_with_its_folders(hosts: Hosts, placed: Cast) -> None:
    teams.pause_team(actor=placed.operator, team=placed.team, paused=True)
    hosts.see("beta")
    with pytest.raises(FoldersMissing):
        go(placed)


def test_it_goes_only_when_paused(hosts: Hosts, placed: Cast) -> None:
    copy(hosts, placed)
    with pytest.raises(TeamNotPaused):
        go(placed)


@pytest.mark.parametrize("work", ["attempt", "intended", "removal", "claimed"])
def test_it_does_not_go_while_anything_is_under_way(hosts: Hosts, placed: Cast, work: str) -> None:
    note = landed(placed)
    if work == "attempt":
        submit(actor=placed.operator, team=placed.team, prompt="x", plan=[node(1)])
        claim_ready(team=placed.team.pk, organization=placed.team.organization_id, policy=DEFAULT)
    elif work == "intended":
        Landing.objects.update(status="intended")
    elif work == "removal":
        Woken()
        revoke(actor=placed.reviewer, note=note, words="wrong")
    else:
        landing_service._claim(approved(placed, "Invoices are numbered.", key="invoices").pk)
    teams.pause_team(actor=placed.operator, team=placed.team, paused=True)
    copy(hosts, placed)
    with pytest.raises(TeamHasWork):
        go(placed)
    assert Team.objects.get(pk=placed.team.pk).host == "alpha"
