"""Pages on which people write: a note or standing rule, a task, and the buttons of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from apps.conductor import wake
from apps.ledger.selectors import entries
from apps.memory.models import Note, Segment
from apps.tasks.models import PlanNode, PlanSource, Task
from apps.tasks.services.plan import save_plan, start_planning
from apps.teams.models import Team
from apps.teams.selectors import active_agents
from tests.doors.conftest import Stage, whole_database
from tests.support.cast import Cast
from tests.support.secrets import github_token
from tikitaka.planning.fallback import sequential_plan
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db
TASK = "/tasks/new/"
RULE = {
    "content": "Only the gateway checks upload limits.",
    "description": "When you touch uploads",
    "severity": "normal",
}


class Woken:
    """Remembers who was woken."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, UUID]] = []

    def wake(self, job: str, subject: UUID) -> None:
        self.jobs.append((job, subject))


@pytest.fixture
def woken() -> Iterator[Woken]:
    binding = Woken()
    wake.bind(binding)
    yield binding
    wake.bind(None)


def said(answer: Any) -> str:
    return " | ".join(str(message) for message in get_messages(answer.wsgi_request))


class TestWritingANote:
    @pytest.mark.parametrize("severity", ["normal", "severe"])
    def test_it_waits_for_another_person(self, cast: Cast, browser: Callable[..., Client], severity: str) -> None:
        data = {
            "team": cast.team.pk,
            **RULE,
            "severity": severity,
            "skill_key": "Upload Limits",
            "rationale": "Twice broken.",
        }
        answer = browser("reviewer").post(reverse("console:note-new"), data)
        note = Note.objects.get()
        assert answer["Location"] == reverse("admin:memory_note_change", args=[note.pk])
        assert (note.status, note.severity, note.source) == ("pending", severity, "person")
        assert (note.skill_key, note.rationale) == ("upload-limits", "Twice broken.")
        assert note.written_by_id == cast.reviewer.id
        assert "written_by_person" in note.review_reasons

    def test_a_secret_in_it_is_replaced(self, cast: Cast, browser: Callable[..., Client]) -> None:
        data = {"team": cast.team.pk, **RULE, "content": f"Send token {github_token()} with each upload."}
        browser("owner").post(reverse("console:note-new"), data)
        assert github_token() not in Note.objects.get().content
        assert Note.objects.get().redacted

    @pytest.mark.parametrize(
        ("field", "value", "words"),
        [
            ("content", "", "required"),
            ("content", "\u200b\u2060", "content must not be blank"),
            ("content", "a\x00b", "Null characters"),
            ("content", "a\x1bb", "content contains control characters"),
            ("content", "x" * (DEFAULT.note_content_chars + 1), "content is longer than"),
            ("description", "", "required"),
            ("description", "x" * (DEFAULT.note_description_chars + 1), "description is longer than"),
            ("severity", "huge", "not one of the available"),
            ("skill_key", "../../etc", "skill_key must not hold path characters"),
            ("rationale", "x" * (DEFAULT.note_rationale_chars + 1), "rationale is longer than"),
            ("team", "", "required"),
            ("team", "x", "is not a valid UUID"),
        ],
    )
    def test_what_is_wrong_stands_at_its_field(
        self, cast: Cast, browser: Callable[..., Client], field: str, value: str, words: str
    ) -> None:
        data = {"team": cast.team.pk, **RULE, field: value}
        answer = browser("reviewer").post(reverse("console:note-new"), data)
        assert answer.status_code == 400
        assert list(answer.context["form"].errors) == [field]
        assert words in str(answer.context["form"].errors[field])
        assert "It was not saved" in answer.content.decode()
        assert not Note.objects.exists()

    def test_only_teams_on_which_one_may_write(self, stage: Stage, browser: Callable[..., Client]) -> None:
        page = browser("reviewer").get(reverse("console:note-new"))
        assert list(page.context["form"].fields["team"].queryset) == [stage.cast.team]
        before = Note.objects.count()
        answer = browser("reviewer").post(reverse("console:note-new"), {"team": stage.cast.other_team.pk, **RULE})
        assert list(answer.context["form"].errors) == ["team"]
        assert Note.objects.count() == before

    @pytest.mark.parametrize("who", ["operator", "auditor"])
    def test_others_may_not(self, cast: Cast, browser: Callable[..., Client], who: str) -> None:
        answer = browser(who).post(reverse("console:note-new"), {"team": cast.team.pk, **RULE})
        assert answer.status_code == 403
        assert "write_note: no_grant" in answer.content.decode()
        assert not Note.objects.exists()

    def test_it_is_linked_where_it_is_looked_for(self, cast: Cast, browser: Callable[..., Client]) -> None:
        for address in (reverse("console:home"), reverse("admin:memory_note_changelist")):
            assert reverse("console:note-new") in browser("reviewer").get(address).content.decode()
            if "admin" not in address:
                assert reverse("console:note-new") not in browser("operator").get(address).content.decode()
        assert reverse("console:note-new") not in browser("auditor").get(address).content.decode()


class TestSubmitting:
    def test_a_task(self, cast: Cast, browser: Callable[..., Client], woken: Woken) -> None:
        answer = browser("operator").post(TASK, {"team": cast.team.pk, "prompt": "Build it.\r\nAll of it."})
        task = Task.objects.get()
        assert answer["Location"] == reverse("console:task", args=[task.pk])
        assert (task.prompt, task.plan_only, task.submitted_by_id) == ("Build it.\nAll of it.", False, cast.operator.id)
        assert woken.jobs == [("assign", cast.team.pk)]
        assert said(answer) == "Submitted."

    def test_words_like_a_secret_are_pointed_out(self, cast: Cast, browser: Callable[..., Client]) -> None:
        client = browser("operator")
        answer = client.post(TASK, {"team": cast.team.pk, "prompt": f"Use {github_token()} for it."}, follow=True)
        page = answer.content.decode()
        assert "looks as if it held a secret" in page
        assert github_token() in Task.objects.get().prompt

    @pytest.mark.parametrize(
        ("prompt", "words"),
        [
            ("", "required"),
            ("\u200b", "prompt must not be blank"),
            ("x" * (DEFAULT.prompt_chars + 1), "prompt is longer"),
        ],
    )
    def test_a_bad_goal(self, cast: Cast, browser: Callable[..., Client], prompt: str, words: str) -> None:
        answer = browser("operator").post(TASK, {"team": cast.team.pk, "prompt": prompt})
        assert answer.status_code == 400
        assert words in str(answer.context["form"].errors["prompt"])
        assert not Task.objects.exists()

    def test_a_team_that_is_not_ready_says_so(self, cast: Cast, browser: Callable[..., Client]) -> None:
        from apps.conductor.teams import retire_agent

        for name in ("backend", "frontend"):
            retire_agent(actor=cast.operator, agent=cast.agents[name])
        answer = browser("operator").post(TASK, {"team": cast.team.pk, "prompt": "Build it."})
        assert answer.status_code == 400
        assert "team_not_ready" in answer.content.decode()

    def test_an_archived_team_is_not_offered(self, cast: Cast, browser: Callable[..., Client]) -> None:
        from apps.conductor.teams import archive_team

        archive_team(actor=cast.operator, team=cast.team)
        assert not browser("operator").get(TASK).context["form"].fields["team"].queryset.exists()

    @pytest.mark.parametrize("who", ["reviewer", "auditor"])
    def test_others_may_not(self, cast: Cast, browser: Callable[..., Client], who: str) -> None:
        assert browser(who).post(TASK, {"team": cast.team.pk, "prompt": "Build it."}).status_code == 403
        assert not Task.objects.exists()


def planned(cast: Cast, browser: Callable[..., Client]) -> Task:
    browser("operator").post(TASK, {"team": cast.team.pk, "prompt": "Build it.", "plan_only": "on"})
    task = Task.objects.select_related("team").get()
    assert start_planning(task=task.pk, policy=settings.TIKITAKA_POLICY)
    task.refresh_from_db()
    agents = list(active_agents(cast.team.pk))
    plan = sequential_plan(task.prompt, [agent.name for agent in agents], policy=settings.TIKITAKA_POLICY)
    assert save_plan(task=task, plan=plan, agents=agents, source=PlanSource.MODEL)
    return task


def press(client: Client, deed: str, task: Task) -> Any:
    return client.post(reverse(f"console:task-{deed}", args=[task.pk]))


def offered(client: Client, task: Task) -> list[str]:
    page = client.get(reverse("console:task", args=[task.pk])).content.decode()
    return [deed for deed in ("approve-plan", "cancel", "resume") if f"/{deed}/" in page]


class TestButtons:
    def test_approve_cancel_resume(self, cast: Cast, browser: Callable[..., Client], woken: Woken) -> None:
        task, client = planned(cast, browser), browser("operator")
        for deed, before, after in (
            ("approve-plan", ["approve-plan", "cancel"], "running"),
            ("cancel", ["cancel"], "cancelled"),
            ("resume", ["resume"], "running"),
        ):
            assert offered(client, task) == before
            assert offered(browser("auditor"), task) == []
            woken.jobs.clear()
            answer = press(client, deed, task)
            assert answer["Location"] == reverse("console:task", args=[task.pk])
            task.refresh_from_db()
            assert task.status == after
            assert ("dispatch", cast.team.pk) in woken.jobs

    def test_what_does_not_fit_the_state_says_why(self, cast: Cast, browser: Callable[..., Client]) -> None:
        task, client = planned(cast, browser), browser("operator")
        before = whole_database()
        assert "not_resumable" in said(press(client, "resume", task))
        assert whole_database() == before
        press(client, "approve-plan", task)
        assert "wrong_state: the task has no plan that waits" in said(press(client, "approve-plan", task))
        press(client, "cancel", task)
        assert "wrong_state: the task has ended already" in said(press(client, "cancel", task))

    @pytest.mark.parametrize("who", ["reviewer", "auditor"])
    @pytest.mark.parametrize("deed", ["approve-plan", "cancel", "resume"])
    def test_others_may_not_and_the_log_knows(
        self, cast: Cast, browser: Callable[..., Client], who: str, deed: str
    ) -> None:
        task = planned(cast, browser)
        answer = press(browser(who), deed, task)
        assert answer.status_code == 403
        assert "run_task: no_grant" in answer.content.decode()
        assert entries(cast.organization.pk, types=("access.denied",)).count() == 1
        task.refresh_from_db()
        assert task.status == "planned"
        assert not PlanNode.objects.exclude(status="queued").exists()

    def test_ending_a_thread_of_work(self, stage: Stage, browser: Callable[..., Client]) -> None:
        team = Team.objects.get(pk=stage.cast.team.pk)
        address = reverse("console:close-thread", args=[team.pk])
        assert address in browser("operator").get(reverse("console:home")).content.decode()
        assert address not in browser("reviewer").get(reverse("console:home")).content.decode()
        assert browser("reviewer").post(address).status_code == 403
        assert Segment.objects.get(team=team).status == "open"
        assert browser("operator").post(address)["Location"] == reverse("console:home")
        assert Segment.objects.get(team=team).close_reason == "by_hand"
        assert "no open thread of work" in said(browser("operator").post(address))
        assert Segment.objects.exclude(team=team).get().status == "open"
