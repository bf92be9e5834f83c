"""Callers of the REST door: machines with tokens of every kind, and what they send."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.test import Client

from apps.accounts.models import Organization, ServiceToken
from apps.accounts.services.tokens import issue_attempt_token
from apps.conductor.tokens import issue_service_token, issue_token_for_agent
from apps.ledger import clock
from apps.tasks.models import Attempt
from tikitaka.authz import MACHINE_SCOPES, Credential, Permission, Principal


def service_token(
    actor: Principal,
    organization: Organization,
    *,
    scopes: Collection[Permission] = MACHINE_SCOPES,
    teams: Collection[UUID] | None = None,
) -> str:
    issued = issue_service_token(
        actor=actor, organization=organization, name="orchestrator", scopes=scopes, days=30, teams=teams
    )
    return str(issued.shown)


def agent_token(actor: Principal, agent: Any) -> str:
    return str(issue_token_for_agent(actor=actor, agent=agent, name="its own", days=30).shown)


def attempt_token(attempt: Attempt) -> str:
    shown = issue_attempt_token(
        organization=attempt.organization_id,
        team=attempt.task.team_id,
        agent=attempt.agent_id,
        attempt=attempt.pk,
        expires_at=clock.now() + timedelta(hours=1),
    )
    return str(shown)


def row_of(token: str) -> ServiceToken:
    return ServiceToken.objects.get(prefix=token.split("_")[1])


def unknown_token() -> str:
    return str(Credential("0" * 12, "A" * 43))


def machine(token: str | None) -> Client:
    """A client that shows `token` with every request."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return Client(headers=headers)


def send(client: Client, method: str, address: str, body: Any = None, **headers: str) -> Any:
    return client.generic(
        method,
        address,
        data="" if body is None and method == "GET" else _json(body),
        content_type="application/json",
        headers=headers,
    )


def _json(body: Any) -> str:

    return json.dumps({} if body is None else body)
