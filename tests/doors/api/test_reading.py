"""Rows that are read by hand say what the object mapper and the framework say, and pages lie in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.db import DatabaseError, connection
from django.db.models import Model
from rest_framework.renderers import JSONRenderer

from apps.accounts.models import Membership, Organization, ServiceToken, User
from apps.accounts.selectors import containers_with, ids_with
from apps.api.reach import rows_of
from apps.api.reading import Rows
from apps.api.shapes.base import Shape
from apps.api.shapes.imports import ImportedSourceShape
from apps.api.shapes.memory import (
    EntryShape,
    FlushShape,
    IncidentShape,
    LandingShape,
    NoteShape,
    RecipientShape,
    ReviewItemShape,
    SegmentShape,
    TokenShape,
)
from apps.api.shapes.webhooks import DeliveryShape
from apps.api.shapes.work import (
    AgentShape,
    AttemptShape,
    BudgetShape,
    ContextShape,
    MemberShape,
    MessageShape,
    NodeShape,
    OrganizationShape,
    SpanShape,
    TaskShape,
    TeamShape,
)
from apps.conductor.models import ImportSource, Incident, WebhookDelivery, WebhookEndpoint
from apps.context.models import ContextSnapshot
from apps.ledger.ids import new_id
from apps.ledger.models import Entry
from apps.ledger.queries import Query
from apps.ledger.rows import Condition, either, equal, every, insert, instances, led, refresh
from apps.ledger.sql import fetch
from apps.memory.models import Flush, Landing, Note, Recipient, ReviewItem, Segment
from apps.tasks.models import Attempt, Budget, Message, PlanNode, Span, Task
from apps.teams.models import Agent, Team
from tests.doors.conftest import Stage
from tests.support.machines import row_of, service_token
from tikitaka.authz import Permission, Principal, PrincipalKind, TokenGrant, TokenKind

pytestmark = pytest.mark.django_db
SHAPES: list[tuple[type[Model], type[Shape]]] = [
    (Organization, OrganizationShape),
    (Team, TeamShape),
    (Agent, AgentShape),
    (Task, TaskShape),
    (PlanNode, NodeShape),
    (Attempt, AttemptShape),
    (Span, SpanShape),
    (Message, MessageShape),
    (ContextSnapshot, ContextShape),
    (Segment, SegmentShape),
    (Note, NoteShape),
    (Recipient, RecipientShape),
    (ReviewItem, ReviewItemShape),
    (Flush, FlushShape),
    (Membership, MemberShape),
    (Budget, BudgetShape),
    (ImportSource, ImportedSourceShape),
    (Landing, LandingShape),
    (Incident, IncidentShape),
    (Entry, EntryShape),
    (ServiceToken, TokenShape),
    (WebhookDelivery, DeliveryShape),
]
# What the console shows of an installation and not of an organization.
OF_THE_INSTALLATION = {User}
OTHERWISE = {WebhookEndpoint}  # read as a model: its secret must not be near an answer
OURS = ("ledger", "accounts", "teams", "tasks", "context", "memory", "conductor", "api")


@pytest.mark.parametrize(("model", "shape"), SHAPES, ids=lambda kind: kind.__name__)
def test_a_shape_reads_what_the_framework_would_write(model: Any, shape: type[Shape], stage: Stage) -> None:
    rows = list(model.objects.order_by("pk"))
    assert rows
    found = Rows(model).all(shape, order="id").ask()
    assert found == json.loads(JSONRenderer().render(shape(rows, many=True).data))


def test_everything_that_the_console_shows_can_be_read() -> None:
    shown = {model for model in site._registry if model._meta.app_label in OURS}
    assert shown - OF_THE_INSTALLATION - OTHERWISE == shown & {model for model, _ in SHAPES}


@pytest.mark.parametrize("label", OURS)
def test_an_instance_is_the_object_mappers(label: str, stage: Stage) -> None:
    seen = 0
    for model in apps.get_app_config(label).get_models():
        if model._meta.pk.name != "id":
            continue
        for row in model._default_manager.order_by("pk"):
            (found,) = instances(model, equal("id", row.pk)).ask()
            names = [field.attname for field in model._meta.concrete_fields]
            assert {name: _plain(getattr(found, name)) for name in names} == {
                name: _plain(getattr(row, name)) for name in names
            }
            assert not found._state.adding
            seen += 1
    assert seen or label == "api"


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def test_rows_are_written_and_read_again(stage: Stage) -> None:
    task, other = stage.rows["tasks.task"], new_id()
    assert isinstance(task, Task)
    written = Task(**{field.attname: getattr(task, field.attname) for field in Task._meta.concrete_fields})
    written.pk, written.first_seq, written.plan_reasons = other, 999, ["too wide", {"nodes": 9}]
    insert(written)
    assert not written._state.adding
    read = Task.objects.get(pk=other)
    assert (read.plan_reasons, read.submitted_at, read.segment_id) == (
        ["too wide", {"nodes": 9}],
        task.submitted_at,
        task.segment_id,
    )
    Task.objects.filter(pk=other).update(prompt="another")
    refresh(written)
    assert written.prompt == "another"
    assert written.submitted_by is not None
    Task.objects.filter(pk=other).update(submitted_by=None)
    refresh(written)
    assert written.submitted_by is None, "it leads nowhere any more"


def test_what_a_row_leads_to_comes_with_it(stage: Stage) -> None:
    task = stage.rows["tasks.task"]
    (found,) = led(Task, equal("id", task.pk), "team__organization").ask()
    (note,) = led(Note, equal("id", stage.note().pk), "flush__segment").ask()
    with CaptureNothing():
        assert found == task
        assert found.team.organization.name == stage.cast.organization.name
        assert note.flush is None, "nothing is there to lead to"
    assert led(Task, equal("status", "no such"), "team").ask() == []


class CaptureNothing:
    """No statement inside."""

    def __enter__(self) -> None:
        self._wrapped = connection.execute_wrapper(self._refuse)
        self._wrapped.__enter__()

    def __exit__(self, *error: object) -> None:
        self._wrapped.__exit__(*error)

    @staticmethod
    def _refuse(*_: object) -> None:
        raise AssertionError("the database was asked")


@pytest.mark.django_db(transaction=True)
def test_what_fails_while_it_is_read_is_an_error_of_the_framework(stage: Stage) -> None:
    if connection.vendor == "sqlite":
        broken = "SELECT json_extract(v, '$.a') FROM (SELECT '{}' AS v UNION ALL SELECT '{')"
    else:
        broken = "SELECT 1 / n FROM generate_series(1, 0, -1) AS n"
    with pytest.raises(DatabaseError):
        Query(broken, [], list).ask()
    assert fetch("SELECT 1") == [(1,)]


def test_conditions(stage: Stage) -> None:
    task = stage.rows["tasks.task"]

    def found(condition: Condition) -> set[Any]:
        return {row.pk for row in instances(Task, condition).ask()}

    everything = set(Task.objects.values_list("pk", flat=True))
    assert found(every(())) == everything
    assert found(equal("settled_at", None)) == everything
    assert found(equal("id", task.pk)) == {task.pk}
    assert found(every((equal("id", task.pk), equal("status", "failed")))) == set()
    assert found(either(equal("id", task.pk), equal("status", "failed"))) == {task.pk}


def _token(teams: frozenset[Any] | None, *scopes: Permission) -> Callable[[Stage], Principal]:
    def make(stage: Stage) -> Principal:
        organization = stage.cast.organization.pk
        grant = TokenGrant(kind=TokenKind.SERVICE, organization=organization, teams=teams, scopes=frozenset(scopes))
        return Principal(kind=PrincipalKind.SERVICE, id=new_id(), name="machine", auth={}, grant=grant)

    return make


@pytest.mark.parametrize(
    "who",
    [_token(frozenset(), Permission.NOTE_VIEW), _token(None), _token(frozenset({new_id()}), Permission.NOTE_VIEW)],
    ids=["for no team", "for nothing", "for a team that is none"],
)
@pytest.mark.parametrize("model", [Organization, Team])
def test_nobody_reaches_all(who: Callable[[Stage], Principal], model: type[Model], stage: Stage) -> None:
    principal = who(stage)
    ids = ids_with(principal, Permission.NOTE_VIEW, model)
    assert fetch(ids.sql, ids.parameters) == []
    assert not containers_with(principal, Permission.NOTE_VIEW, model).exists()


@pytest.mark.parametrize("model", [Task, Note, Segment, Landing, WebhookDelivery], ids=lambda model: model.__name__)
def test_a_page_lies_in_the_order_of_an_index(model: type[Model], stage: Stage) -> None:
    """Nothing is sorted, so that a page costs the same at any row."""
    token = row_of(service_token(stage.cast.owner, stage.cast.organization))
    grant = TokenGrant(
        kind=TokenKind.SERVICE,
        organization=token.organization_id,
        teams=None,
        scopes=frozenset({Permission.ORGANIZATION_VIEW}),
    )
    who = Principal(kind=PrincipalKind.SERVICE, id=token.pk, name=token.name, auth={}, grant=grant)
    path = {Landing: "note__team", WebhookDelivery: "organization"}.get(model, "team")
    shape = dict(SHAPES)[model]
    query = rows_of(who, model, path=path).having(Condition("id > %s", (new_id(),))).all(shape, order="id", limit=51)
    if connection.vendor == "sqlite":
        plan = str(fetch(f"EXPLAIN QUERY PLAN {query.statement}", query.parameters))
        assert "(organization_id=? AND id>?)" in plan
        assert "TEMP B-TREE" not in plan
    else:
        fetch("SELECT set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)")
        plan = str(fetch(f"EXPLAIN {query.statement}", query.parameters))
        assert "_page" in plan or "_pkey" in plan
        assert "Sort" not in plan
