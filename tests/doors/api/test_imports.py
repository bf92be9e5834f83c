"""Observe only: recordings of elsewhere, in whichever form, once, for the team that they were sent to."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from apps.tasks.models import Attempt, Span, Task
from tests.doors.conftest import whole_database
from tests.support.cast import Cast
from tests.support.machines import machine, service_token
from tests.support.secrets import github_token
from tikitaka.authz import Permission

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(cast: Cast) -> Client:
    return machine(service_token(cast.owner, cast.organization, scopes=[Permission.WORK_IMPORT]))


def send(client: Client, body: str, media_type: str = "application/x-ndjson", **query: Any) -> Any:

    return client.post(
        f"/api/v1/imports?{urlencode(query)}", data=body.encode("utf-8", "surrogatepass"), content_type=media_type
    )


def session(secret: str = "") -> str:
    lines = [
        {"type": "session", "id": "thread-1"},
        {"type": "prompt", "text": "Where is staging?"},
        {"type": "span", "kind": "command", "text": f"cat /etc/staging {secret}"},
        {"type": "message", "text": "It is rebuilt on Mondays."},
        {"type": "end"},
    ]
    return "\n".join(map(json.dumps, lines))


def traces(agent: str = "Backend", prompt: str = "Where is staging?") -> str:
    def value(text: str) -> dict[str, str]:
        return {"stringValue": text}

    attributes = {
        "gen_ai.operation.name": value("chat"),
        "gen_ai.conversation.id": value("conversation-1"),
        "gen_ai.agent.name": value(agent),
        "gen_ai.input.messages": value(json.dumps([{"role": "user", "parts": [{"type": "text", "content": prompt}]}])),
        "gen_ai.output.messages": value(
            json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It is rebuilt on Mondays."}]}])
        ),
    }
    span = {
        "traceId": "0" * 31 + "1",
        "spanId": "0" * 15 + "1",
        "name": "chat",
        "startTimeUnixNano": "1764500000000000000",
        "endTimeUnixNano": "1764500001000000000",
        "attributes": [{"key": key, "value": found} for key, found in attributes.items()],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


@pytest.mark.parametrize("body", [session(), traces()])
def test_the_same_again_changes_nothing(body: str, cast: Cast, client: Client) -> None:
    where = {"team": cast.team.pk, "agent": cast.agents["backend"].pk}
    media_type = "application/json" if body.startswith('{"resourceSpans"') else "application/x-ndjson"
    first = send(client, body, media_type, **where)
    assert first.status_code == 200, first.content
    assert (first.json()["changed"], first.json()["sessions"][0]["tasks"]) == (True, 1)
    before = whole_database()
    again = send(client, body, media_type, **where)
    assert (again.json()["changed"], again.json()["sessions"][0]["tasks"]) == (False, 0)
    assert whole_database() == before
    assert Attempt.objects.get().output == "It is rebuilt on Mondays."


def test_traces_say_whose_work_it_was(cast: Cast, client: Client) -> None:
    assert send(client, traces(), "application/json", team=cast.team.pk).status_code == 200
    assert Attempt.objects.get().agent == cast.agents["backend"]
    unknown = send(client, traces("Plumber"), "application/json", team=cast.team.pk)
    assert (unknown.status_code, unknown.json()["code"]) == (400, "unknown_agents")
    assert "Plumber" in unknown.json()["detail"]
    assert Task.objects.count() == 1


def test_the_same_conversation_of_another_team_is_another(cast: Cast) -> None:
    for actor, organization, team in (
        (cast.owner, cast.organization, cast.team),
        (cast.stranger, cast.other, cast.other_team),
    ):
        client = machine(service_token(actor, organization))
        assert send(client, traces(), "application/json", team=team.pk).json()["changed"] is True
    assert Task.objects.filter(team=cast.team).count() == Task.objects.filter(team=cast.other_team).count() == 1


def test_secrets_are_not_kept(cast: Cast, client: Client) -> None:
    secret = github_token()
    send(client, session(secret), team=cast.team.pk, agent=cast.agents["backend"].pk)
    assert Span.objects.exists()
    assert not Span.objects.filter(text__contains=secret).exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "empty"),
        ("hello", "empty"),
        ("\x00", "empty"),
        ('{"resourceSpans": []}', "no_turns"),
        ("[" * 90_000, "empty"),
    ],
)
def test_what_is_no_recording_is_refused_by_name(body: str, code: str, cast: Cast, client: Client) -> None:
    answer = send(client, body, team=cast.team.pk, agent=cast.agents["backend"].pk)
    assert answer.status_code == 400
    assert answer.json()["code"] == code
    assert not Task.objects.exists()


def test_who_may(cast: Cast, client: Client) -> None:
    assert send(client, session(), team=cast.other_team.pk).status_code == 404
    foreign = cast.other_team.agents.first()
    assert send(client, session(), team=cast.team.pk, agent=foreign.pk).status_code == 404
    without = machine(service_token(cast.owner, cast.organization, scopes=[Permission.ORGANIZATION_VIEW]))
    assert send(without, session(), team=cast.team.pk).status_code == 403
    blind = machine(service_token(cast.owner, cast.organization, scopes=[Permission.TASK_RUN]))
    assert send(blind, session(), team=cast.team.pk).status_code == 404
    assert send(machine(None), session(), team=cast.team.pk).status_code == 401
    assert send(client, session()).json()["fields"] == {"team": "This field is required."}
    assert send(client, session(), "image/png", team=cast.team.pk).status_code == 415
    assert send(client, "x" * (8 * 1024 * 1024 + 1), team=cast.team.pk).status_code == 413
    assert not Task.objects.exists()
