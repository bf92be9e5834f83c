"""manage.py issue_token: a token once on stdout, in the name of somebody who may."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from apps.accounts.models import Organization, ServiceToken
from apps.accounts.services.organizations import found_organization
from apps.accounts.services.tokens import principal_of_token
from apps.conductor.teams import retire_agent
from apps.ledger.models import Entry
from tests.support.cast import Cast
from tests.support.machines import machine, send

pytestmark = pytest.mark.django_db


def issue(*words: str, user: str = "owner", name: str = "ci") -> tuple[str, str]:
    """What comes on stdout and on stderr."""
    out, err = StringIO(), StringIO()
    call_command("issue_token", "--user", user, "--name", name, *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refused(*words: str, **more: Any) -> str:
    with pytest.raises(CommandError) as found:
        issue(*words, **more)
    assert not ServiceToken.objects.exists()
    return str(found.value)


def test_a_token_for_an_orchestrator(cast: Cast) -> None:
    out, err = issue("--organization", "Alpha", "--scope", "run_task", "--scope", "view_organization_work")
    token = out.strip()
    assert out == f"{token}\n", "nothing else, so that a script may take it"
    row = ServiceToken.objects.get()
    assert str(row.pk) in err
    assert token not in err
    assert (row.scopes, row.teams, row.name) == (["run_task", "view_organization_work"], None, "ci")
    assert (row.expires_at - row.created_at).days == 30
    body = {"team": str(cast.team.pk), "prompt": "Build it."}
    assert send(machine(token), "POST", "/api/v1/tasks", body).status_code == 201
    entry = Entry.objects.get(type="org.token.issued")
    assert entry.actor_id == str(cast.owner.id)
    assert token.split("_", 2)[2] not in entry.header


def test_for_one_team_of_the_organization(cast: Cast) -> None:
    """The other organization has a team of the same name."""
    out, _ = issue("--organization", str(cast.organization.pk), "--scope", "run_task", "--team", "Core", "--days", "1")
    who = principal_of_token(out.strip())
    assert who is not None
    assert who.grant is not None
    assert who.grant.teams == {cast.team.pk}


def test_for_an_agent(cast: Cast) -> None:
    out, _ = issue("--agent", str(cast.agents["backend"].pk))
    who = principal_of_token(out.strip())
    assert who is not None
    assert who.id == cast.agents["backend"].pk


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--organization", "Gamma", "--scope", "run_task"), "--organization: no organization is called Gamma"),
        (("--organization", "Alpha", "--scope", "run_task", "--team", "Nope"), "--team: no team is called Nope"),
        (("--organization", "Alpha"), "invalid: scopes: must be some of"),
        (("--organization", "Alpha", "--scope", "run_task", "--days", "91"), "invalid: days: must be from 1 to 90"),
        (("--organization", "Alpha", "--scope", "decide_note"), "invalid choice: 'decide_note'"),
        (("--scope", "run_task"), "give --organization with --scope, or --agent"),
        (("--agent", "Backend"), "--agent: no agent is called Backend"),
        (("--agent", "Backend", "--scope", "run_task"), "--scope does not go with --agent"),
    ],
)
def test_what_does_not_fit_is_named(words: tuple[str, ...], said: str, cast: Cast) -> None:
    assert said in refused(*words)


def test_nobody_of_that_name(cast: Cast) -> None:
    words = ("--organization", "Alpha", "--scope", "run_task")
    assert refused(*words, user="nobody") == "--user: nobody logs in as nobody"


@pytest.mark.parametrize("who", ["operator", "reviewer", "auditor", "stranger"])
def test_only_an_owner_of_the_organization(who: str, cast: Cast) -> None:
    assert refused("--organization", "Alpha", "--scope", "run_task", user=who).startswith("forbidden: ")


def test_two_organizations_of_one_name(cast: Cast) -> None:
    found_organization(actor=cast.owner, name="Alpha", owner=cast.user(cast.owner))
    assert Organization.objects.filter(name="Alpha").count() == 2
    assert "more than one organization" in refused("--organization", "Alpha", "--scope", "run_task")


def test_a_retired_agent(cast: Cast) -> None:
    retire_agent(actor=cast.owner, agent=cast.agents["backend"])
    assert refused("--agent", str(cast.agents["backend"].pk)) == "invalid: agent: is retired"


def test_a_team_of_another_organization(cast: Cast) -> None:
    words = ("--organization", "Alpha", "--scope", "run_task", "--team", str(cast.other_team.pk))
    assert "no team is called" in refused(*words)
