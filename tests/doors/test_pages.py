"""Every page for every role. The lists below are compared with the resolver and the registry: what is new must be said.

A page answers a stranger exactly as it answers a random id, in words and status.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from apps.accounts.models import Membership
from tests.doors.conftest import PEOPLE, ROLES, Stage
from tikitaka.authz import ROLE_PERMISSIONS, Permission, Role

pytestmark = pytest.mark.django_db
P = Permission

# What a person must hold to look at the rows of a model; `None` is maintenance of accounts, for superusers alone.
MODELS: dict[str, Permission | None] = {
    "accounts.membership": P.ORGANIZATION_VIEW,
    "accounts.organization": P.ORGANIZATION_VIEW,
    "accounts.servicetoken": P.ORGANIZATION_VIEW,
    "accounts.user": None,
    "conductor.importsource": P.ORGANIZATION_VIEW,
    "conductor.incident": P.ORGANIZATION_VIEW,
    "conductor.webhookdelivery": P.ORGANIZATION_VIEW,
    "conductor.webhookendpoint": P.ORGANIZATION_VIEW,
    "context.contextsnapshot": P.ORGANIZATION_VIEW,
    "ledger.entry": P.LEDGER_READ,
    "memory.flush": P.ORGANIZATION_VIEW,
    "memory.landing": P.NOTE_VIEW,
    "memory.note": P.NOTE_VIEW,
    "memory.reviewitem": P.NOTE_VIEW,
    "memory.segment": P.ORGANIZATION_VIEW,
    "tasks.attempt": P.ORGANIZATION_VIEW,
    "tasks.budget": P.ORGANIZATION_VIEW,
    "tasks.task": P.ORGANIZATION_VIEW,
    "teams.agent": P.ORGANIZATION_VIEW,
    "teams.team": P.ORGANIZATION_VIEW,
}
GOVERNED = {label: seen for label, seen in MODELS.items() if seen is not None}
# Dialogs of the admin: whose rows, and what a person must hold there.
DIALOGS: dict[str, tuple[str, Permission]] = {
    "accounts_organization_budget": ("accounts.organization", P.BUDGET_SET),
    "accounts_organization_go_on": ("accounts.organization", P.WORK_PAUSE),
    "accounts_organization_pause": ("accounts.organization", P.WORK_PAUSE),
    "accounts_servicetoken_revoke": ("accounts.servicetoken", P.TOKENS_MANAGE),
    "accounts_organization_webhook": ("accounts.organization", P.TEAMS_MANAGE),
    "conductor_incident_close": ("conductor.incident", P.INCIDENT_CLOSE),
    "conductor_webhookdelivery_again": ("conductor.webhookdelivery", P.TEAMS_MANAGE),
    "conductor_webhookendpoint_edit": ("conductor.webhookendpoint", P.TEAMS_MANAGE),
    "conductor_webhookendpoint_remove": ("conductor.webhookendpoint", P.TEAMS_MANAGE),
    "conductor_webhookendpoint_rotate": ("conductor.webhookendpoint", P.TEAMS_MANAGE),
    "conductor_webhookendpoint_test": ("conductor.webhookendpoint", P.TEAMS_MANAGE),
    "memory_flush_retry": ("memory.flush", P.TASK_RUN),
    "memory_note_approve": ("memory.note", P.NOTE_DECIDE),
    "memory_note_edit": ("memory.note", P.NOTE_DECIDE),
    "memory_note_reject": ("memory.note", P.NOTE_DECIDE),
    "memory_note_revoke": ("memory.note", P.NOTE_REVOKE),
    "tasks_task_budget": ("tasks.task", P.BUDGET_SET),
    "teams_agent_retire": ("teams.agent", P.TEAMS_MANAGE),
    "teams_team_budget": ("teams.team", P.BUDGET_SET),
    "teams_team_archive": ("teams.team", P.TEAMS_MANAGE),
    "teams_team_go_on": ("teams.team", P.WORK_PAUSE),
    "teams_team_pause": ("teams.team", P.WORK_PAUSE),
}


@dataclass(frozen=True)
class Page:
    """A page of our own: `needs` to get 200 (None: any login), `of` the model whose id is in its address."""

    needs: Permission | None
    of: str = ""
    post: bool = False


PAGES: dict[str, Page] = {
    "console:home": Page(None),
    "console:task": Page(P.ORGANIZATION_VIEW, of="tasks.task"),
    "console:task-new": Page(P.TASK_RUN),
    "console:task-approve-plan": Page(P.TASK_RUN, of="tasks.task", post=True),
    "console:task-cancel": Page(P.TASK_RUN, of="tasks.task", post=True),
    "console:task-resume": Page(P.TASK_RUN, of="tasks.task", post=True),
    "console:close-thread": Page(P.TASK_RUN, of="teams.team", post=True),
    "console:note-new": Page(P.NOTE_WRITE),
    "console:token-new": Page(P.TOKENS_MANAGE),
    "console:agent-token-new": Page(P.TOKENS_MANAGE, of="teams.agent"),
}
# Open to everybody, or answered elsewhere in this file.
# The metrics want a token of their own, see test_metrics.py.
APART = {"console:healthz", "console:readyz", "console:task-events", "console:metrics"}
SITE = {
    "admin:index", "admin:login", "admin:logout", "admin:search", "admin:autocomplete", "admin:jsi18n",
    "admin:password_change", "admin:password_change_done", "admin:view_on_site", "admin:app_list",
    "admin:auth_user_password_change", "admin:None",
}  # fmt: skip
VIEWS = ("changelist", "add", "history", "delete", "change")


def names() -> Iterator[str]:
    def walk(patterns: Any, space: str) -> Iterator[str]:
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                yield f"{space}:{pattern.name}"
            else:
                yield from walk(pattern.url_patterns, pattern.namespace or space)

    return walk(get_resolver().url_patterns, "")


def holds(who: str, permission: Permission | None) -> bool:
    return permission is None or permission in ROLE_PERMISSIONS[Role(who)]


def url(view: str, label: str, *args: Any) -> str:
    return reverse(f"admin:{label.replace('.', '_')}_{view}", args=args)


def words(response: Any) -> str:
    """The page without what differs from one request to the next."""
    text = response.content.decode()
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|csrfmiddlewaretoken\W+value=\W\w+|csrf\w*\W+\w{32,}", "*", text)


def logs_in(response: Any) -> bool:
    return response.status_code == 302 and response["Location"].startswith(reverse("admin:login"))


def test_every_address_is_classified() -> None:
    models = {f"admin:{label.replace('.', '_')}_{view}" for label in MODELS for view in VIEWS}
    known = set(PAGES) | APART | SITE | models | {f"admin:{name}" for name in DIALOGS}
    pages = {name for name in names() if not name.startswith("api:")}  # see tests/doors/api/test_reaching.py
    assert pages == known


def test_every_model_of_the_admin_is_classified() -> None:
    assert {model._meta.label_lower for model in admin.site._registry} == set(MODELS)


class TestNobody:
    """Without a login."""

    def test_our_pages_lead_to_the_login(self, stage: Stage) -> None:
        for name, page in PAGES.items():
            address = reverse(name, args=[stage.rows[page.of].pk] if page.of else [])
            assert logs_in(Client().get(address)), name
            assert logs_in(Client().post(address)), name

    def test_the_admin_leads_to_the_login(self, stage: Stage) -> None:
        addresses = [reverse("admin:index"), reverse("admin:search"), reverse("admin:autocomplete")]
        for label in MODELS:
            addresses.append(url("changelist", label))
            addresses += [url("change", label, stage.rows[label].pk)] if label in stage.rows else []
        addresses += [reverse(f"admin:{name}", args=[stage.rows[of].pk]) for name, (of, _) in DIALOGS.items()]
        for address in addresses:
            assert logs_in(Client().get(address)), address
            assert logs_in(Client().post(address)), address

    def test_health_answers_everybody(self) -> None:
        assert Client().get(reverse("console:healthz")).status_code == 200

    def test_the_event_stream_does_not_exist(self, stage: Stage) -> None:
        address = reverse("console:task-events", args=[stage.rows["tasks.task"].pk])
        assert Client().get(address).status_code == 404


class TestRoles:
    """The table of permissions, page by page."""

    @pytest.mark.parametrize("who", ROLES)
    def test_pages_of_our_own(self, stage: Stage, browser: Callable[..., Client], who: str) -> None:
        for name, page in PAGES.items():
            address = reverse(name, args=[stage.rows[page.of].pk] if page.of else [])
            expected = 405 if page.post else 200 if holds(who, page.needs) else 403
            assert browser(who).get(address).status_code == expected, name

    @pytest.mark.parametrize("who", ROLES)
    def test_lists_and_rows(self, stage: Stage, browser: Callable[..., Client], who: str) -> None:
        client = browser(who)
        for label, needed in GOVERNED.items():
            expected = 200 if holds(who, needed) else 403
            assert client.get(url("changelist", label)).status_code == expected, label
            assert client.get(url("change", label, stage.rows[label].pk)).status_code == expected, label

    @pytest.mark.parametrize("who", ROLES)
    def test_dialogs(self, stage: Stage, browser: Callable[..., Client], who: str) -> None:
        client = browser(who)
        for name, (label, needed) in DIALOGS.items():
            expected = 200 if holds(who, needed) and holds(who, MODELS[label]) else 403
            assert client.get(reverse(f"admin:{name}", args=[stage.rows[label].pk])).status_code == expected, name

    @pytest.mark.parametrize("who", PEOPLE)
    def test_accounts_are_not_theirs_to_keep(self, browser: Callable[..., Client], who: str) -> None:
        for view in ("changelist", "add"):
            assert browser(who).get(url(view, "accounts.user")).status_code == 403

    @pytest.mark.parametrize("who", ROLES)
    def test_the_menu_names_only_what_opens(self, browser: Callable[..., Client], who: str) -> None:
        page = browser(who).get(reverse("admin:index")).content.decode()
        for label, needed in GOVERNED.items():
            assert (url("changelist", label) in page) == holds(who, needed), label

    @pytest.mark.parametrize("who", ROLES)
    def test_our_links_lead_nowhere_forbidden(self, stage: Stage, browser: Callable[..., Client], who: str) -> None:
        client = browser(who)
        for start in (reverse("console:home"), reverse("console:task", args=[stage.rows["tasks.task"].pk])):
            for link in set(re.findall(r'href="(/[^"]*)"', client.get(start).content.decode())):
                if not link.startswith("/static/"):
                    assert client.get(link.replace("&amp;", "&")).status_code == 200, f"{start} -> {link}"


class TestStrangers:
    """Nothing of another organization is named, counted, offered or answered differently."""

    def test_lists_show_own_rows_only(self, stage: Stage, browser: Callable[..., Client]) -> None:
        client, agents = browser("stranger"), stage.cast.agents.values()
        for label in GOVERNED:
            page = client.get(url("changelist", label)).content.decode()
            assert not re.search("Alpha|alpha work", page), label
            for row in (stage.rows[label], stage.cast.team, *agents):
                assert str(row.pk) not in page, f"{label}: {row}"

    def test_the_other_way_round(self, stage: Stage, browser: Callable[..., Client]) -> None:
        client = browser("owner")
        for label in GOVERNED:
            page = client.get(url("changelist", label)).content.decode()
            assert not re.search("Beta|beta work", page), label
            for row in (stage.others[label], stage.cast.other_team):
                assert str(row.pk) not in page, f"{label}: {row}"

    @pytest.mark.parametrize("view", ["change", "delete", "history"])
    def test_rows(self, stage: Stage, browser: Callable[..., Client], view: str) -> None:
        client = browser("stranger")
        for label in GOVERNED:
            self.same(client, url(view, label, stage.rows[label].pk), url(view, label, uuid4()))

    def test_dialogs(self, stage: Stage, browser: Callable[..., Client]) -> None:
        client = browser("stranger")
        for name, (label, _) in DIALOGS.items():
            theirs, absent = (reverse(f"admin:{name}", args=[pk]) for pk in (stage.rows[label].pk, uuid4()))
            self.same(client, theirs, absent)
            self.same(client, theirs, absent, method="post")

    def test_dialogs_of_what_is_no_id(self, browser: Callable[..., Client]) -> None:
        client = browser("owner")
        for name in DIALOGS:
            start, _, decision, _ = reverse(f"admin:{name}", args=[uuid4()]).rsplit("/", 3)
            for odd in ("x", "1", "0" * 40, "..", "%00"):
                assert client.get(f"{start}/{odd}/{decision}/").status_code == 403, f"{name} {odd}"

    def test_our_pages(self, stage: Stage, browser: Callable[..., Client]) -> None:
        client = browser("stranger")
        for name, page in {**PAGES, "console:task-events": Page(None, of="tasks.task")}.items():
            for method in ("get", "post") if page.of else ():
                theirs, absent = (reverse(name, args=[pk]) for pk in (stage.rows[page.of].pk, uuid4()))
                answer = self.same(client, theirs, absent, method=method)
                assert answer.status_code in (404, 405), name

    def test_home_and_forms(self, stage: Stage, browser: Callable[..., Client]) -> None:
        for name in ("console:home", "console:task-new", "console:note-new"):
            page = browser("stranger").get(reverse(name)).content.decode()
            assert not re.search("Alpha|alpha", page), name
            assert str(stage.cast.team.pk) not in page
        for name in ("console:task-new", "console:note-new"):
            answer = browser("stranger").post(
                reverse(name), {"team": stage.cast.team.pk, "prompt": "x", "content": "x", "description": "x"}
            )
            assert answer.status_code == 400

    def test_a_filter_by_another_teams_id_finds_nothing(self, stage: Stage, browser: Callable[..., Client]) -> None:
        for label in ("memory.note", "tasks.task", "teams.agent", "memory.segment"):
            page = browser("stranger").get(url("changelist", label), {"team__id__exact": str(stage.cast.team.pk)})
            assert str(stage.rows[label].pk) not in page.content.decode()

    def test_search_and_autocomplete_find_nothing(self, stage: Stage, browser: Callable[..., Client]) -> None:
        page = browser("stranger").get(url("changelist", "memory.note"), {"q": "Rule of Alpha"}).content.decode()
        assert str(stage.note().pk) not in page
        found = browser("stranger").get(reverse("admin:search"), {"s": "Alpha", "extended": "1"}).content.decode()
        assert "Rule of" not in found
        query = {"term": "own", "app_label": "accounts", "model_name": "membership", "field_name": "user"}
        assert browser("stranger").get(reverse("admin:autocomplete"), query).status_code == 403

    def test_whoever_leaves_sees_nothing_any_more(self, stage: Stage, browser: Callable[..., Client]) -> None:
        from apps.accounts.services.members import remove_member

        client = browser("reviewer")
        assert client.get(url("change", "memory.note", stage.note().pk)).status_code == 200
        member = Membership.objects.get(user_id=stage.cast.reviewer.id)
        remove_member(actor=stage.cast.owner, organization=stage.cast.organization, user=member.user)
        assert client.get(url("changelist", "memory.note")).status_code == 403
        assert client.get(reverse("console:task", args=[stage.rows["tasks.task"].pk])).status_code == 404

    def same(self, client: Client, theirs: str, absent: str, method: str = "get") -> Any:
        """Two answers that tell nobody which of the two exists."""
        answer, other = getattr(client, method)(theirs), getattr(client, method)(absent)
        assert answer.status_code == other.status_code
        assert answer.status_code != 200
        assert words(answer) == words(other)
        return answer
