"""A look is never a decision, and a decision needs the token of the form."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from apps.memory.services.notes import note_digest
from tests.doors.conftest import Stage, whole_database
from tests.doors.test_deciding import HX, address, decide, fresh, send
from tests.doors.test_pages import DIALOGS, PAGES
from tests.support.cast import Cast
from tests.support.notes import proposed

pytestmark = pytest.mark.django_db


class TestLooking:
    """A GET is never a decision, whoever asks and whatever stands in the query."""

    def test_a_get_changes_nothing(self, stage: Stage, browser: Callable[..., Client]) -> None:
        clients = [browser(who) for who in ("owner", "reviewer", "operator", "auditor", "stranger")]
        query = {"_form_submitted": "True", "words": "x", "shown_digest": note_digest(stage.note()), "content": "x"}
        before = whole_database()
        for name, (label, _) in DIALOGS.items():
            for client in clients:
                client.get(address(name, stage.rows[label]))
                client.get(address(name, stage.rows[label]), query, **HX)
                client.head(address(name, stage.rows[label]), query)
            assert whole_database() == before, name

    def test_nor_does_one_on_our_pages(self, stage: Stage, browser: Callable[..., Client]) -> None:
        client = browser("owner")
        before = whole_database()
        for name, page in PAGES.items():
            client.get(reverse(name, args=[stage.rows[page.of].pk] if page.of else []), {"prompt": "x"})
        assert whole_database() == before

    def test_a_post_without_the_token_is_refused(self, stage: Stage, browser: Callable[..., Client]) -> None:
        client = browser("owner", enforce_csrf_checks=True)
        before = whole_database()
        for name, (label, _) in DIALOGS.items():
            answer = send(client, name, stage.rows[label], words="x", shown_digest=note_digest(stage.note()))
            assert answer.status_code == 403, name
        assert whole_database() == before

    def test_our_forms_need_the_token_too(self, stage: Stage, browser: Callable[..., Client]) -> None:
        client = browser("owner", enforce_csrf_checks=True)
        for name, page in PAGES.items():
            if name not in ("console:home", "console:task"):
                answer = client.post(reverse(name, args=[stage.rows[page.of].pk] if page.of else []))
                assert answer.status_code == 403, name

    def test_with_the_token_of_the_dialog_it_acts(self, cast: Cast, browser: Callable[..., Client]) -> None:
        note = proposed(cast)
        client = browser("reviewer", enforce_csrf_checks=True)
        client.get(address("memory_note_reject", note))
        token = client.cookies["csrftoken"].value
        decide(client, "reject", note, words="no", csrfmiddlewaretoken=token)
        assert fresh(note).status == "rejected"
