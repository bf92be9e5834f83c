"""Making and revoking tokens in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import ServiceToken
from apps.accounts.services.tokens import principal_of_token
from apps.ledger.models import Entry
from tests.support.cast import Cast
from tikitaka.authz import TokenKind

pytestmark = pytest.mark.django_db
Browser = Callable[..., Client]


def form(cast: Cast, **changes: Any) -> dict[str, Any]:
    return {
        "organization": str(cast.organization.pk),
        "name": "nightly builds",
        "scopes": ["run_task", "view_organization_work"],
        "days": "30",
        **changes,
    }


def shown(response: Any) -> str:
    """The token as it stands on the page."""
    return str(response.context["issued"].shown)


def test_a_token_is_on_the_page_once(cast: Cast, browser: Browser) -> None:
    owner = browser("owner")
    answer = owner.post(reverse("console:token-new"), form(cast))
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    token = shown(answer)
    assert token in answer.content.decode()
    who = principal_of_token(token)
    assert who is not None
    assert who.grant is not None
    assert who.grant.teams is None
    assert {scope.value for scope in who.grant.scopes} == {"run_task", "view_organization_work"}
    row = ServiceToken.objects.get()
    for page in ("admin:accounts_servicetoken_changelist", "admin:accounts_servicetoken_change"):
        address = reverse(page, args=[row.pk] if page.endswith("change") else [])
        text = owner.get(address).content.decode()
        assert row.prefix in text
        assert token.split("_", 2)[2] not in text
        assert row.secret_digest not in text


def test_for_some_teams_only(cast: Cast, browser: Browser) -> None:
    answer = browser("owner").post(reverse("console:token-new"), form(cast, teams=[str(cast.team.pk)]))
    assert ServiceToken.objects.get().teams == [str(cast.team.pk)]
    assert shown(answer).startswith("tk_")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"days": "91"}, "days"),
        ({"name": ""}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["decide_note"]}, "scopes"),
        ({"organization": "other"}, "organization"),
        ({"teams": ["other"]}, "teams"),
    ],
)
def test_a_refusal_stands_beside_its_field(change: dict[str, Any], field: str, cast: Cast, browser: Browser) -> None:
    others = {"organization": str(cast.other.pk), "teams": [str(cast.other_team.pk)]}
    change = {name: others[name] if "other" in value else value for name, value in change.items()}
    answer = browser("owner").post(reverse("console:token-new"), form(cast, **change))
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    assert not ServiceToken.objects.exists()


def test_for_an_agent(cast: Cast, browser: Browser) -> None:
    agent = cast.agents["backend"]
    owner = browser("owner")
    assert "Backend of Core" in owner.get(reverse("console:token-new")).content.decode()
    answer = owner.post(reverse("console:agent-token-new", args=[agent.pk]), {"name": "laptop", "days": "7"})
    who = principal_of_token(shown(answer))
    assert who is not None
    assert (who.id, who.grant.kind) == (agent.pk, TokenKind.AGENT)
    assert who.grant.scopes == frozenset()


def test_revoking(cast: Cast, browser: Browser) -> None:
    owner = browser("owner")
    token = shown(owner.post(reverse("console:token-new"), form(cast)))
    row = ServiceToken.objects.get()
    owner.post(reverse("admin:accounts_servicetoken_revoke", args=[row.pk]), {"_form_submitted": "True"})
    assert principal_of_token(token) is None
    assert Entry.objects.filter(type="org.token.revoked", subject_id=str(row.pk)).count() == 1
    assert "revoked" in owner.get(reverse("admin:accounts_servicetoken_changelist")).content.decode()
