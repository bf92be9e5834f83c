"""Nothing governed is added, changed or deleted by hand, in bulk or one by one, by a superuser or anybody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Membership, User
from apps.ledger import triggers
from tests.doors.conftest import ROLES, Stage, whole_database
from tests.doors.test_pages import DIALOGS, GOVERNED, PAGES, url

pytestmark = pytest.mark.django_db


class TestByHand:
    @pytest.mark.parametrize("who", [*ROLES, "superuser"])
    def test_no_adding_changing_deleting(
        self, stage: Stage, browser: Callable[..., Client], superuser: Client, who: str
    ) -> None:
        client = superuser if who == "superuser" else browser(who)
        before = whole_database()
        for label in GOVERNED:
            row = stage.rows[label]
            assert client.get(url("add", label)).status_code == 403, label
            for address in (url("add", label), url("change", label, row.pk), url("delete", label, row.pk)):
                answer = client.post(address, {"post": "yes", "_save": "Save", "name": "x", "status": "active"})
                assert answer.status_code == 403, address
            assert client.get(url("delete", label, row.pk)).status_code == 403, label
        assert whole_database() == before

    def test_no_bulk_deletion(self, stage: Stage, browser: Callable[..., Client], superuser: Client) -> None:
        clients = (browser("owner"), superuser)
        before = whole_database()
        for label in [*GOVERNED, "accounts.user"]:
            pk = stage.rows[label].pk if label in stage.rows else stage.cast.stranger.id
            forged = {"action": "delete_selected", "_selected_action": [str(pk)], "post": "yes"}
            for client in clients:
                assert "delete_selected" not in client.get(url("changelist", label)).content.decode(), label
                client.post(url("changelist", label), forged)
            assert whole_database() == before, label

    def test_no_model_offers_an_action_in_bulk(self, stage: Stage, browser: Callable[..., Client]) -> None:
        request = browser("owner").get(reverse("admin:index")).wsgi_request
        for model_admin in admin.site._registry.values():
            assert model_admin.get_actions(request) == {}, model_admin


class TestSuperuser:
    """The flag opens the maintenance of accounts and nothing else."""

    def test_sees_no_row_of_any_organization(self, stage: Stage, superuser: Client) -> None:
        for label in GOVERNED:
            assert superuser.get(url("changelist", label)).status_code == 403, label
            assert superuser.get(url("change", label, stage.rows[label].pk)).status_code == 403, label
        for name, (label, _) in DIALOGS.items():
            assert superuser.post(reverse(f"admin:{name}", args=[stage.rows[label].pk])).status_code == 403, name
        for name, page in PAGES.items():
            answer = superuser.get(reverse(name, args=[stage.rows[page.of].pk] if page.of else []))
            assert answer.status_code in (200, 403, 404, 405), name
            assert "alpha work" not in answer.content.decode()

    def test_keeps_accounts(self, stage: Stage, superuser: Client) -> None:
        assert superuser.get(url("changelist", "accounts.user")).status_code == 200
        page = superuser.get(url("change", "accounts.user", stage.cast.owner.id)).content.decode()
        assert "user_permissions" not in page
        assert 'name="groups"' not in page

    def test_deletes_nobody(self, stage: Stage, superuser: Client) -> None:
        """It would end a membership without an entry in the log."""
        user = User.objects.get(pk=stage.cast.stranger.id)
        assert superuser.post(url("delete", "accounts.user", user.pk), {"post": "yes"}).status_code == 403
        assert Membership.objects.filter(user=user).exists()

    def test_gives_nobody_a_group(self, stage: Stage, superuser: Client) -> None:
        user = User.objects.get(pk=stage.cast.stranger.id)
        group = stage.cast.user(stage.cast.owner).groups.get()
        superuser.post(
            url("change", "accounts.user", user.pk),
            {"username": "stranger", "is_active": "on", "groups": [group.pk], "email": "a@example.org"},
        )
        user.refresh_from_db()
        assert user.email == "a@example.org"
        assert not user.groups.filter(pk=group.pk).exists()

    def test_a_person_without_the_staff_flag_has_our_pages_only(self, stage: Stage) -> None:
        user = stage.cast.user(stage.cast.reviewer)
        User.objects.filter(pk=user.pk).update(is_staff=False)
        client = Client()
        client.force_login(user)
        assert client.get(reverse("admin:index")).status_code == 302
        home = client.get(reverse("console:home"))
        assert home.status_code == 200
        assert "/admin/memory" not in home.content.decode()


class TestHealth:
    ADDRESS = "/healthz"

    def test_healthy(self) -> None:
        answer = Client().get(self.ADDRESS)
        assert (answer.status_code, answer.json()) == (200, {"status": "healthy"})

    def test_without_the_triggers_of_the_ledger(self, transactional_db: None) -> None:
        triggers.uninstall(connection)
        try:
            answer = Client().get(self.ADDRESS)
        finally:
            triggers.install(connection)
        assert answer.status_code == 503
        assert answer.json() == {"status": "unhealthy", "fault": "ledger_triggers"}
        assert Client().get(self.ADDRESS).status_code == 200

    def test_without_a_database(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(_: object) -> set[str]:
            raise OperationalError("no such host db-17.internal, user tikitaka")

        monkeypatch.setattr(triggers, "installed", broken)
        answer = Client().get(self.ADDRESS)
        assert answer.status_code == 503
        assert answer.json() == {"status": "unhealthy", "fault": "database"}


class TestReadiness:
    ADDRESS = "/readyz"

    def test_ready(self, stage: Stage) -> None:
        answer = Client().get(self.ADDRESS)
        assert (answer.status_code, answer.json()) == (200, {"status": "ready"})

    def test_a_broker_that_is_away_is_named_and_pages_answer(
        self, settings: Any, browser: Callable[..., Client]
    ) -> None:
        settings.TIKITAKA_BROKER_URL = "redis://127.0.0.1:1/0"
        answer = Client().get(self.ADDRESS)
        assert answer.status_code == 503
        assert answer.json() == {"status": "not_ready", "faults": {"broker": "away"}}
        assert int(answer["Retry-After"]) > 0
        assert browser("operator").get(reverse("console:home")).status_code == 200

    def test_a_disk_that_is_not_mounted(self, stage: Stage, settings: Any, tmp_path: Path) -> None:
        settings.TIKITAKA_WORKSPACES = tmp_path / "nowhere"
        assert Client().get(self.ADDRESS).json()["faults"] == {"workspaces": "missing"}

    def test_a_page_without_a_database_says_try_again(
        self, monkeypatch: pytest.MonkeyPatch, browser: Callable[..., Client]
    ) -> None:
        def away(*_: object, **__: object) -> None:
            raise OperationalError("no such host db-17.internal, user tikitaka")

        client = browser("operator", raise_request_exception=False)
        monkeypatch.setattr("apps.console.views.home.render", away)
        answer = client.get(reverse("console:home"))
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "db-17" not in answer.content.decode()


class TestHeaders:
    def test_every_answer_has_a_policy(self, stage: Stage, browser: Callable[..., Client]) -> None:
        own = [reverse(name, args=[stage.rows[page.of].pk] if page.of else []) for name, page in PAGES.items()]
        own += ["/healthz", "/readyz", f"/tasks/{uuid4()}/", "/nowhere", reverse("console:task-events", args=[uuid4()])]
        for address in own:
            for client in (browser("owner"), Client()):
                policy = client.get(address)["Content-Security-Policy"]
                assert "unsafe" not in policy, address
                assert policy.startswith("default-src 'self'; object-src 'none'")
        for address in ("/admin/", "/admin/nowhere/", "/admin/login/", "/admin"):
            policy = browser("owner").get(address)["Content-Security-Policy"]
            for part in ("default-src 'self'", "object-src 'none'", "frame-ancestors 'none'", "form-action 'self'"):
                assert part in policy, address

    def test_a_refused_post_has_one_too(self, browser: Callable[..., Client]) -> None:
        answer = browser("owner", enforce_csrf_checks=True).post(reverse("console:task-new"))
        assert answer.status_code == 403
        assert "default-src 'self'" in answer["Content-Security-Policy"]
