"""Teams of two to eight agents, their workspaces, the stop switches."""

from __future__ import annotations

import pytest

from apps.conductor.pool import embedded_pool
from apps.conductor.story import land, submit
from apps.conductor.teams import AgentBusy, TeamBusy, archive_team, pause, retire_agent
from apps.ledger.selectors import entries
from apps.tasks.models import Attempt, Task
from apps.tasks.services.submit import TeamNotReady
from apps.teams.services.agents import TeamFull
from apps.teams.services.teams import create_team
from tests.support.cast import Cast, add_agent
from tests.support.notes import approved
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.errors import Invalid, TikiTakaError


class TestSize:
    def test_eight_agents_and_not_nine(self, cast: Cast) -> None:
        for number in range(5):
            add_agent(cast.operator, cast.team, f"Agent {number}")
        with pytest.raises(TeamFull):
            add_agent(cast.operator, cast.team, "Ninth")

    def test_a_team_of_one_takes_no_task(self, cast: Cast) -> None:
        team = create_team(actor=cast.operator, organization=cast.organization, name="Lonely")
        add_agent(cast.operator, team, "Only")
        with pytest.raises(TeamNotReady):
            submit(actor=cast.operator, team=team, prompt="x")

    @pytest.mark.parametrize("width", [0, 9, -1])
    def test_width_is_one_to_eight(self, cast: Cast, width: int) -> None:
        with pytest.raises(Invalid, match="width"):
            create_team(actor=cast.operator, organization=cast.organization, name="Wide", width=width)

    def test_work_areas_are_the_servers_and_stay_below_the_tree(self, cast: Cast) -> None:
        with pytest.raises(Invalid, match="work_areas"):
            create_team(
                actor=cast.operator, organization=cast.organization, name="Bad", work_areas={"general": ["../x/**"]}
            )


class TestWorkspace:
    def test_private_folders_own_git_and_the_one_link(self, cast: Cast) -> None:
        folder = cast.folder("backend")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / ".git").is_dir()
        links = [path for path in folder.rglob("*") if path.is_symlink() and ".git" not in path.parts]
        assert links == [folder / "code"]
        assert (folder / "code").resolve() == (cast.folder("frontend") / "code").resolve()
        assert (folder / "AGENTS.md").read_text().startswith("# Backend")


@pytest.mark.django_db(transaction=True)
class TestStopSwitches:
    def test_a_paused_organization_starts_and_lands_nothing_until_it_goes_on(self, committed_cast: Cast) -> None:
        cast = committed_cast
        note = approved(cast)
        pause(actor=cast.owner, organization=cast.organization.pk, paused=True)
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)])
            land(note.pk)
            assert pool.drain(120)
            assert not Attempt.objects.exists()
            note.refresh_from_db()
            assert note.status == "approved"
            pause(actor=cast.owner, organization=cast.organization.pk, paused=False)
            assert pool.drain(120)
        note.refresh_from_db()
        assert note.status == "active"
        assert Task.objects.get().status == "completed"
        kinds = list(entries(cast.organization.pk).values_list("type", flat=True))
        assert kinds.count("org.paused") == kinds.count("org.unpaused") == 1

    def test_who_may_not_pause_is_refused(self, committed_cast: Cast) -> None:
        with pytest.raises(TikiTakaError):
            pause(actor=committed_cast.reviewer, organization=committed_cast.organization.pk, paused=True)

    def test_nobody_retires_in_the_middle_of_work(self, committed_cast: Cast) -> None:
        cast = committed_cast
        submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(2)])
        with pytest.raises(AgentBusy):
            retire_agent(actor=cast.operator, agent=cast.agents["backend"])
        with pytest.raises(TeamBusy):
            archive_team(actor=cast.operator, team=cast.team)
        cast.agents["backend"].refresh_from_db()
        assert cast.agents["backend"].retired_at is None
