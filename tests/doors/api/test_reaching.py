"""Every address of the door is classified, and shows what is granted to nobody but those to whom it is granted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver, reverse

from apps.accounts.models import ServiceToken
from apps.accounts.services.tokens import revoke_token
from apps.conductor.models import RefusedCalls
from apps.ledger import clock
from apps.ledger.models import Entry
from apps.teams.services.teams import create_team
from tests.doors.conftest import Stage, browser_of, whole_database
from tests.support.machines import agent_token, attempt_token, machine, row_of, send, service_token, unknown_token
from tikitaka.authz import MACHINE_SCOPES, Permission

pytestmark = pytest.mark.django_db

P = Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`of` is the row that the address names; `needs` what lets a machine do it, None where no machine may."""

    method: str = "GET"
    of: str | None = None
    needs: Permission | None = P.ORGANIZATION_VIEW
    query: str = ""
    body: dict[str, Any] = field(default_factory=dict)
    ok: int = 200
    stream: bool = False


ORGANIZATION = "?organization={accounts.organization}"
TEXT = {"content": "Never deploy on Fridays.", "description": "When to deploy"}
ADDRESSES: dict[str, Address] = {
    "organizations": Address(),
    "organization": Address(of="accounts.organization"),
    "organization-pause": Address(method="POST", of="accounts.organization", needs=P.WORK_PAUSE),
    "organization-resume": Address(method="POST", of="accounts.organization", needs=P.WORK_PAUSE),
    "teams": Address(),
    "team": Address(of="teams.team"),
    "team-pause": Address(method="POST", of="teams.team", needs=P.WORK_PAUSE),
    "team-resume": Address(method="POST", of="teams.team", needs=P.WORK_PAUSE),
    "team-archive": Address(method="POST", of="teams.team", needs=P.TEAMS_MANAGE, ok=409),
    "team-close-thread": Address(method="POST", of="teams.team", needs=P.TASK_RUN),
    "team-agents": Address(method="POST", of="teams.team", needs=P.TEAMS_MANAGE, body={"name": "Newcomer"}, ok=201),
    "members": Address(),
    "budgets": Address(),
    "imports": Address(),
    "agents": Address(),
    "agent": Address(of="teams.agent"),
    "agent-retire": Address(method="POST", of="teams.agent", needs=P.TEAMS_MANAGE, ok=409),
    "agent-tokens": Address(method="POST", of="teams.agent", needs=None, body={"name": "its own", "days": 1}, ok=201),
    "tasks": Address(),
    "task": Address(of="tasks.task"),
    "task-approve": Address(method="POST", of="tasks.task", needs=P.TASK_RUN, ok=409),
    "task-cancel": Address(method="POST", of="tasks.task", needs=P.TASK_RUN),
    "task-resume": Address(method="POST", of="tasks.task", needs=P.TASK_RUN, ok=409),
    "task-nodes": Address(of="tasks.task"),
    "task-attempts": Address(of="tasks.task"),
    "task-messages": Address(of="tasks.task"),
    "task-events": Address(of="tasks.task", stream=True),
    "node-lease": Address(method="POST", needs=P.NODE_LEASE, body={"team": "{teams.team}"}, ok=204),
    "node": Address(of="tasks.plannode"),
    "node-retry": Address(method="POST", of="tasks.plannode", needs=P.TASK_RUN, ok=409),
    "attempt": Address(of="tasks.attempt"),
    "attempt-spans": Address(of="tasks.attempt"),
    "attempt-context": Address(of="tasks.attempt"),
    "segments": Address(),
    "segment": Address(of="memory.segment"),
    "notes": Address(needs=P.NOTE_VIEW),
    "note": Address(of="memory.note", needs=P.NOTE_VIEW),
    "note-approve": Address(method="POST", of="memory.note", needs=None),
    "note-reject": Address(method="POST", of="memory.note", needs=None, body={"words": "wrong"}),
    "note-edit": Address(method="POST", of="memory.note", needs=None, body={"text": TEXT}),
    "note-revoke": Address(method="POST", of="memory.note", needs=None, body={"words": "wrong"}),
    "review-items": Address(needs=P.NOTE_VIEW),
    "flushes": Address(),
    "landings": Address(needs=P.NOTE_VIEW),
    "incidents": Address(),
    "incident": Address(of="conductor.incident"),
    "incident-close": Address(method="POST", of="conductor.incident", needs=None),
    "tokens": Address(),
    "webhooks": Address(),
    "webhook": Address(of="conductor.webhookendpoint"),
    "webhook-rotate": Address(method="POST", of="conductor.webhookendpoint", needs=P.TEAMS_MANAGE),
    "webhook-remove": Address(method="POST", of="conductor.webhookendpoint", needs=P.TEAMS_MANAGE),
    "webhook-test": Address(method="POST", of="conductor.webhookendpoint", needs=P.TEAMS_MANAGE, ok=201),
    "deliveries": Address(),
    "delivery-redeliver": Address(method="POST", of="conductor.webhookdelivery", needs=P.TEAMS_MANAGE),
    "ledger": Address(needs=P.LEDGER_READ, query=ORGANIZATION),
    "ledger-entries": Address(needs=P.LEDGER_READ, query=ORGANIZATION),
    "ledger-verify": Address(method="POST", needs=P.LEDGER_VERIFY, query=ORGANIZATION),
    "ledger-export": Address(needs=P.LEDGER_READ, query=ORGANIZATION, stream=True),
}
# Who is looked for in tests of their own: the holder's own token, attempts, an agent's machine, and what has no row.
APART = {
    "token-current",
    "token-revoke",
    "attempt-heartbeat",
    "attempt-span-batch",
    "attempt-complete",
    "agent-workspace",
    "agent-workspace-report",
    "schema",
    "docs",
}
LISTS = [
    name for name, address in ADDRESSES.items() if address.method == "GET" and not address.of and not address.query
]
ONES = [name for name, address in ADDRESSES.items() if address.of or address.query or address.body]
SECRETS = ("Rule of Alpha", "Do the alpha work", "Alpha speaks", "shown to the agent")


def rows_of(stage: Stage) -> dict[str, Any]:
    attempt = stage.rows["tasks.attempt"]
    return {**{label: row.pk for label, row in stage.rows.items()}, "tasks.plannode": attempt.node_id}


def ask(client: Client, name: str, stage: Stage, **headers: str) -> Any:
    address, rows = ADDRESSES[name], rows_of(stage)
    args = [rows[address.of]] if address.of else []
    query = address.query.format_map(_Rows(rows))
    body = {
        key: value.format_map(_Rows(rows)) if isinstance(value, str) else value for key, value in address.body.items()
    }
    if name in ("note-approve", "note-reject", "note-edit"):
        headers.setdefault("if-match", f'"{stage.note().content_digest}"')
    return send(client, address.method, reverse(f"api:{name}", args=args) + query, body, **headers)


class _Rows(dict):
    """So that `{teams.team}` in a text is looked up whole."""

    def __missing__(self, key: str) -> Any:
        return _Half(self, key)


class _Half:
    def __init__(self, rows: dict[str, Any], start: str) -> None:
        self._rows, self._start = rows, start

    def __getattr__(self, name: str) -> Any:
        return self._rows[f"{self._start}.{name}"]


def text_of(response: Any) -> str:
    return "" if response.streaming else response.content.decode()


def _no_grants(stage: Stage) -> str:
    return agent_token(stage.cast.owner, stage.cast.agents["backend"])


def _attempts_own(stage: Stage) -> str:
    return attempt_token(stage.rows["tasks.attempt"])  # type: ignore[arg-type]


def _other_organization(stage: Stage) -> str:
    return service_token(stage.cast.stranger, stage.cast.other)


def _other_team(stage: Stage) -> str:
    team = create_team(actor=stage.cast.owner, organization=stage.cast.organization, name="Elsewhere")
    return service_token(stage.cast.owner, stage.cast.organization, teams=[team.pk])


def _without_scopes(stage: Stage) -> str:
    return service_token(stage.cast.owner, stage.cast.organization, scopes=[P.WORK_IMPORT])


def _revoked(stage: Stage) -> str:
    token = service_token(stage.cast.owner, stage.cast.organization)
    revoke_token(actor=stage.cast.owner, token=row_of(token))
    return token


def _expired(stage: Stage) -> str:
    token = service_token(stage.cast.owner, stage.cast.organization)
    ServiceToken.objects.filter(pk=row_of(token).pk).update(expires_at=clock.now() - timedelta(seconds=1))
    return token


def _unknown(stage: Stage) -> str:
    return unknown_token()


def _none(stage: Stage) -> None:
    return None


KNOWN = [_no_grants, _attempts_own, _other_organization, _other_team, _without_scopes]
REFUSED_AT_THE_DOOR = [_revoked, _expired, _unknown, _none]
Caller = Callable[[Stage], str | None]


def test_every_address_is_classified() -> None:
    resolver = next(part for part in get_resolver().url_patterns if getattr(part, "namespace", None) == "api")
    names = {pattern.name for pattern in resolver.url_patterns if getattr(pattern, "name", None)}
    assert names == set(ADDRESSES) | APART


@pytest.mark.parametrize("name", sorted(ADDRESSES))
def test_an_owner_and_a_token_with_the_scope_are_answered(name: str, stage: Stage) -> None:
    address = ADDRESSES[name]
    person = ask(browser_of(stage.cast)("owner"), name, stage)
    if name in ("note-approve", "note-reject"):
        assert (person.status_code, person.json()["code"]) == (403, "forbidden"), "the owner wrote that note"
    else:
        assert person.status_code == address.ok, text_of(person)


@pytest.mark.parametrize("name", [name for name, address in ADDRESSES.items() if address.needs])
def test_a_machine_needs_the_scope_and_nothing_else(name: str, stage: Stage) -> None:
    address = ADDRESSES[name]
    assert address.needs is not None
    scopes = {address.needs, P.ORGANIZATION_VIEW} if address.method == "POST" else {address.needs}
    answer = ask(machine(service_token(stage.cast.owner, stage.cast.organization, scopes=scopes)), name, stage)
    assert answer.status_code == address.ok, text_of(answer)
    if address.method == "GET" and name != "organizations" and name != "organization":
        rest = MACHINE_SCOPES - {address.needs}
        refused = ask(machine(service_token(stage.cast.owner, stage.cast.organization, scopes=rest)), name, stage)
        assert refused.status_code == 404 or refused.json()["items"] == [], text_of(refused)


@pytest.mark.parametrize("name", [name for name, address in ADDRESSES.items() if address.needs is None])
def test_what_only_people_do_is_refused_to_every_machine(name: str, stage: Stage) -> None:
    token = service_token(stage.cast.owner, stage.cast.organization)
    answer = ask(machine(token), name, stage)
    assert answer.status_code == 403, text_of(answer)
    assert Entry.objects.filter(type="access.denied", actor_id=str(row_of(token).pk)).exists()


@pytest.mark.parametrize("name", ONES)
def test_who_was_not_granted_it_gets_the_same_as_for_what_does_not_exist(name: str, stage: Stage) -> None:
    nowhere = reverse("api:note", args=["00000000-0000-7000-8000-000000000000"])
    for caller in KNOWN:
        if caller is not _other_organization and name == "organization":
            continue  # one's own organization may be named by whoever belongs to it
        client = machine(caller(stage))
        answer = ask(client, name, stage)
        assert answer.status_code == 404, (caller, text_of(answer))
        assert not any(secret in text_of(answer) for secret in SECRETS), caller
        absent = send(client, "GET", nowhere)
        assert set(answer.json()) == set(absent.json())
        assert answer.json()["code"] == absent.json()["code"] == "not_found"


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_empty_for_them(name: str, stage: Stage) -> None:
    for caller in KNOWN:
        answer = ask(machine(caller(stage)), name, stage)
        assert answer.status_code == 200, caller
        assert not any(secret in text_of(answer) for secret in SECRETS), caller
        items = answer.json()["items"]
        if name == "organizations":
            assert len(items) == 1, "one's own"
        elif caller is _other_organization:
            mine = {str(row.pk) for row in stage.rows.values()}
            assert not mine & {item["id"] for item in items}
        elif caller is _other_team and name == "teams":
            assert [item["name"] for item in items] == ["Elsewhere"]
        else:
            assert items == [], caller


@pytest.mark.parametrize("name", sorted(ADDRESSES))
def test_whoever_is_nobody_is_told_nothing(name: str, stage: Stage) -> None:
    for caller in REFUSED_AT_THE_DOOR:
        client = machine(caller(stage))
        before = _all_but_the_count()
        answer = ask(client, name, stage)
        assert answer.status_code == 401, caller
        assert answer.json()["code"] == "not_authenticated"
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert _all_but_the_count() == before, caller


def _all_but_the_count() -> str:
    """Unknown callers are a metric, written now and then."""
    RefusedCalls.objects.all().delete()
    return whole_database()


@pytest.mark.parametrize("name", [name for name in ONES if ADDRESSES[name].method == "POST"])
def test_a_stranger_changes_nothing(name: str, stage: Stage) -> None:
    client = browser_of(stage.cast)("stranger")
    before = whole_database()
    answer = ask(client, name, stage)
    assert answer.status_code == 404
    assert whole_database() == before, "a stranger's refusal is no entry in an organization that is not theirs"


# How many statements a read costs, the one that finds the token among them: two, but for these.
QUERIES = {
    "attempt-context": 4,
    "attempt-spans": 3,
    "incident": 3,
    "ledger": 5,
    "ledger-entries": 4,
    "ledger-export": 3,
    "note": 5,
    "task-attempts": 3,
    "task-messages": 3,
    "task-nodes": 3,
    "webhook": 3,
    "webhooks": 3,
}
TRAVEL_TOGETHER = {"note": 3}  # so many fewer where they go to the server as one


@pytest.mark.parametrize("name", sorted(name for name, address in ADDRESSES.items() if address.method == "GET"))
def test_what_an_answer_costs(name: str, stage: Stage) -> None:
    client = machine(service_token(stage.cast.owner, stage.cast.organization, scopes=sorted(MACHINE_SCOPES)))
    ask(client, name, stage)  # notes the use of the token
    with CaptureQueriesContext(connection) as found:
        assert ask(client, name, stage).status_code == 200
    fewer = TRAVEL_TOGETHER.get(name, 0) if connection.vendor == "postgresql" else 0
    assert len(found) == QUERIES.get(name, 2) - fewer, [query["sql"] for query in found]
