"""Budgets in the console: who sets them, what is typed, what a person is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from apps.console.budgets import in_words
from apps.ledger import clock
from apps.tasks.models import Budget, Task
from tests.doors.conftest import Stage

pytestmark = pytest.mark.django_db


def dialog(row: Model) -> str:
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_budget", args=[row.pk])


def send(client: Client, address: str, **typed: str) -> Any:
    """As the dialog sends it."""
    return client.post(address, {"_form_submitted": "True", **typed}, headers={"HX-Request": "true"})


def budget(stage: Stage, **columns: Any) -> Budget:
    whole = {"organization": stage.cast.organization, "since": clock.now(), "tokens_max": 10}
    return Budget.objects.create(**{**whole, **columns})


@pytest.mark.parametrize("label", ["accounts.organization", "teams.team", "tasks.task"])
def test_an_owner_sets_one_and_sees_it_again(stage: Stage, browser: Callable[..., Client], label: str) -> None:
    Budget.objects.all().delete()
    client, address = browser("owner"), dialog(stage.rows[label])
    send(client, address, attempts_max="7", tokens_max="", cost_max="1.25", monthly="on")
    found = Budget.objects.get()
    assert (found.attempts_max, found.tokens_max, found.cost_micros_max) == (7, None, 1_250_000)
    assert label.endswith(found.scope)
    assert found.monthly is (label != "tasks.task")
    page = client.get(address).content.decode()
    assert 'value="7"' in page
    assert 'value="1.25"' in page


@pytest.mark.parametrize(
    ("field", "wrong"), [("attempts_max", "-1"), ("tokens_max", "many"), ("cost_max", "1.0000001"), ("cost_max", "NaN")]
)
def test_what_is_no_limit_is_refused_beside_its_field(
    stage: Stage, browser: Callable[..., Client], field: str, wrong: str
) -> None:
    before = list(Budget.objects.values())
    answer = send(browser("owner"), dialog(stage.cast.team), **{field: wrong})
    assert "HX-Redirect" not in answer.headers
    assert any(
        word in answer.content.decode() for word in ("whole number", "greater than", "Enter a number", "6 decimal")
    )
    assert list(Budget.objects.values()) == before


@pytest.mark.parametrize("who", ["operator", "reviewer", "auditor", "stranger"])
def test_nobody_else_does(stage: Stage, browser: Callable[..., Client], who: str) -> None:
    answer = send(browser(who), dialog(stage.cast.team), tokens_max="5")
    assert answer.status_code in (403, 404)
    assert not Budget.objects.filter(team=stage.cast.team, task=None).exists()


def test_a_task_is_submitted_with_its_own(stage: Stage, browser: Callable[..., Client]) -> None:
    form = {"team": stage.cast.team.pk, "prompt": "count me", "attempts_max": "2", "cost_max": "0.5"}
    assert browser("operator").post(reverse("console:task-new"), form).status_code == 302
    found = Budget.objects.get(task=Task.objects.get(prompt="count me"))
    assert (found.attempts_max, found.tokens_max, found.cost_micros_max) == (2, None, 500_000)


def test_a_wrong_limit_submits_nothing(stage: Stage, browser: Callable[..., Client]) -> None:
    form = {"team": stage.cast.team.pk, "prompt": "count me", "attempts_max": "-2"}
    assert browser("operator").post(reverse("console:task-new"), form).status_code == 400
    assert not Task.objects.filter(prompt="count me").exists()


def test_the_tasks_page_says_what_is_left_and_what_holds_it(stage: Stage, browser: Callable[..., Client]) -> None:
    task = stage.rows["tasks.task"]
    budget(stage, team=stage.cast.team, attempts_max=3, attempts=3, exhausted="attempts_spent")
    page = browser("operator").get(reverse("console:task", args=[task.pk])).content.decode()
    assert "Budget of the team: 3 of 3 attempts, 0 of 10 tokens" in page
    assert "the budget of the team is spent (attempts_spent)" in page
    Task.objects.filter(pk=task.pk).update(status="cancelled", settled_at=clock.now())
    ended = browser("operator").get(reverse("console:task", args=[task.pk])).content.decode()
    assert "attempts_spent" not in ended


def test_the_list_of_budgets(stage: Stage, browser: Callable[..., Client]) -> None:
    budget(stage, exhausted="tokens_spent", tokens=12)
    page = browser("auditor").get(reverse("admin:tasks_budget_changelist")).content.decode()
    assert "12 of 10 tokens" in page
    assert "tokens_spent" in page


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"attempts_max": 2000, "attempts": 5}, "5 of 2,000 attempts"),
        ({"tokens_max": 10, "cost_micros_max": 2_500_000, "cost_micros": 10}, "0 of 10 tokens, 0.00001 of 2.5 in cost"),
        ({"cost_micros_max": 100_000_000, "monthly": True}, "0 of 100 in cost this month"),
    ],
)
def test_in_words(columns: dict[str, Any], words: str) -> None:
    assert in_words(Budget(**columns)) == words
