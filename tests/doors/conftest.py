"""Two organizations with one row of everything, a browser for each person, and what the whole database looks like."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.conf import settings
from django.db.models import Model
from django.test import AsyncClient, Client
from django.urls import reverse

from apps.accounts.models import Membership, User
from apps.conductor.incidents import open_incident
from apps.conductor.models import ImportSource, Incident, IncidentKind, WebhookDelivery, WebhookEndpoint
from apps.conductor.tokens import issue_service_token
from apps.context.models import ContextSnapshot
from apps.ledger import clock
from apps.ledger.models import Entry
from apps.memory.models import Flush, Landing, Note, ReviewItem, Segment
from apps.memory.services.review import NoteText, write_note
from apps.tasks.models import Attempt, Budget, PlanNode, Span, Task
from apps.tasks.services.submit import submit_task
from apps.teams.models import Agent, Team
from apps.teams.selectors import active_agents
from tests.support.cast import Cast
from tikitaka.authz import Permission, Principal

ROLES = ("owner", "reviewer", "operator", "auditor")
PEOPLE = (*ROLES, "stranger")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`rows` and `others`: one row of every model of the admin, by label, in `cast`'s organization and in the other."""

    cast: Cast
    rows: dict[str, Model]
    others: dict[str, Model]

    def note(self) -> Note:
        note = self.rows["memory.note"]
        note.refresh_from_db()
        assert isinstance(note, Note)
        return note


@pytest.fixture
def stage(cast: Cast) -> Stage:
    return set_up(cast)


@pytest.fixture
def committed_stage(committed_cast: Cast) -> Stage:
    """The same where an event stream, which runs in threads of its own, can see it."""
    return set_up(committed_cast)


def set_up(cast: Cast) -> Stage:
    return Stage(
        cast=cast,
        rows=populate(cast.owner, cast.team, prompt="Do the alpha work."),
        others=populate(cast.stranger, cast.other_team, prompt="Do the hidden beta work."),
    )


@pytest.fixture
def browser(cast: Cast) -> Callable[..., Client]:
    """browser("reviewer") is logged in as the reviewer; nobody is logged in for browser(None)."""
    return browser_of(cast)


def browser_of(cast: Cast) -> Callable[..., Client]:
    def open_one(who: str | None, **options: Any) -> Client:
        client = Client(**options)
        if who is not None:
            client.force_login(cast.user(getattr(cast, who)))
        return client

    return open_one


@pytest.fixture
def superuser(cast: Cast) -> Client:
    """May maintain accounts and belongs to nobody's organization."""
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="not-a-secret-root"))
    return client


def populate(actor: Principal, team: Team, *, prompt: str) -> dict[str, Model]:
    now = clock.now()
    agents: list[Agent] = list(active_agents(team.pk))
    organization = team.organization_id
    segment = Segment.objects.create(organization_id=organization, team=team, opened_at=now)
    task = submit_task(actor=actor, team=team, prompt=prompt).task
    Task.objects.filter(pk=task.pk).update(status="running", segment_id=segment.pk, plan_source="model")
    task.refresh_from_db()
    attempts = [attempt_of(task, agent, index) for index, agent in enumerate(agents[:2], start=1)]
    spans = [span_of(attempt, f"{team.organization.name} speaks {attempt.fence}") for attempt in attempts]
    text = NoteText(content=f"Rule of {team.organization.name}.", description=f"When in {team.organization.name}")
    note = write_note(actor=actor, team=team, text=text, policy=settings.TIKITAKA_POLICY)
    note.cited_attempts.add(attempts[0])
    note.cited_spans.add(spans[0])
    open_incident(organization=organization, team=team.pk, kind=IncidentKind.DRIFT, subject=f"of {team.pk}")
    shared = {"organization_id": organization}
    endpoint = WebhookEndpoint.objects.create(
        url=f"https://{team.organization.name.lower()}.invalid/path-of-{team.pk.hex}",
        events=["task.settled"],
        secret=b"sealed",
        created_by_id=actor.id,
        created_at=now,
        **shared,
    )
    rows: list[Model] = [
        team.organization,
        team,
        agents[0],
        Membership.objects.get(organization_id=organization, user_id=actor.id),
        issue_service_token(
            actor=actor, organization=team.organization, name="of the stage", scopes=[Permission.TASK_RUN], days=1
        ).token,
        Entry.objects.filter(log__organization_id=organization).first(),  # type: ignore[list-item]
        segment,
        Flush.objects.create(segment=segment, ordinal=1, **shared),
        task,
        attempts[0],
        Budget.objects.create(team=team, task=task, tokens_max=1_000_000, since=now, **shared),
        ContextSnapshot.objects.create(**snapshot_of(attempts[0])),
        note,
        ReviewItem.objects.get(note=note),
        Landing.objects.create(
            note=note, agent=agents[0], file="AGENTS.md", status="removed", block_digest="0" * 64, intended_at=now,
            **shared,
        ),
        Incident.objects.get(organization_id=organization),
        endpoint,
        WebhookDelivery.objects.create(
            endpoint=endpoint, event="webhook.test", body="{}", created_at=now, waiting_since=now, next_at=now, **shared
        ),
        ImportSource.objects.create(team=team, agent=agents[0], thread_id=f"of {team.pk}", imported_at=now, **shared),
    ]  # fmt: skip
    return {row._meta.label_lower: row for row in rows}


def attempt_of(
    task: Task, agent: Agent, index: int, *, after: tuple[int, ...] = (), status: str = "running"
) -> Attempt:
    now = clock.now()
    shared = {"organization_id": task.organization_id, "task": task, "agent": agent}
    node = PlanNode.objects.create(
        index=index, role=f"role {index}", instruction="do it", work_area="general", writes=True, status=status,
        depends_on=list(after), attempts=1, **shared,
    )  # fmt: skip
    return Attempt.objects.create(node=node, number=1, fence=index, started_at=now, status=status, **shared)


def span_of(attempt: Attempt, text: str, *, seq: int = 1, later: float = 0, **columns: Any) -> Span:
    at = clock.now() + timedelta(seconds=later)
    return Span.objects.create(attempt=attempt, seq=seq, text=text, at=at, **{"kind": "agent_message", **columns})


def snapshot_of(attempt: Attempt) -> dict[str, Any]:
    names = ("injected_messages", "deduplicated_messages", "dependency_nodes", "available_notes")
    return {
        "organization_id": attempt.organization_id,
        "attempt": attempt,
        "from_seq_exclusive": 0,
        "to_seq_inclusive": 1,
        "rendered": "shown to the agent",
        "rendered_digest": "0" * 64,
        "created_at": clock.now(),
        **{name: [] for name in names},
    }


def whole_database() -> str:
    """A digest of every row of every table but sessions."""
    total = hashlib.sha256()
    for model in apps.get_models():
        if model._meta.app_label in ("sessions", "admin"):
            continue
        for row in model._base_manager.order_by("pk").values_list():
            total.update(f"{model._meta.label}{row}".encode())
    return total.hexdigest()


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event as a browser reads it."""

    name: str
    id: str
    data: Any


def listen(user: User, task: Any, last: str = "") -> list[Event]:
    """The event stream of a task to its end, through the asynchronous stack."""

    async def all_of_it() -> bytes:
        client = AsyncClient()
        await client.aforce_login(user)
        headers = {"last-event-id": last} if last else {}
        answer = await client.get(reverse("console:task-events", args=[task.pk]), headers=headers)
        assert answer.status_code == 200
        parts: list[bytes] = []
        async for part in answer:
            parts.append(part)
            assert len(parts) < 1_000, "the stream does not end"
        return b"".join(parts)

    return events_in(async_to_sync(all_of_it)().decode())


def events_in(text: str) -> list[Event]:
    """Reads as the standard says: lines end with LF, an event with an empty line, a colon begins a comment."""
    found = []
    for part in text.removesuffix("\n\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in part.split("\n") if not line.startswith(":"))
        if fields:
            found.append(Event(fields["event"], fields.get("id", ""), json.loads(fields["data"])))
    return found
