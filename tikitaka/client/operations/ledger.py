"""The organization's log, and tokens."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tikitaka.client.calls import Call, Id, get, given, post
from tikitaka.client.operations.teams import Order, pages
from tikitaka.client.reading import Page, lines, one, page
from tikitaka.client.records.memory import Entry, Log, NewToken, Token, Verification


def get_ledger(organization: Id) -> Call[Log]:
    """The head of the organization's log."""
    return get("get_ledger", "/api/v1/ledger", one(Log), query={"organization": organization})


def list_entries(
    organization: Id,
    *,
    type: str | None = None,  # noqa: A002 the parameter's name
    subject: Id | None = None,
    team: Id | None = None,
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[Entry]]:
    query = pages(limit, order, cursor, organization=organization, type=type, subject=subject, team=team)
    return get("list_entries", "/api/v1/ledger/entries", page(Entry), query=query)


def verify_ledger(organization: Id) -> Call[Verification]:
    """Recomputes the whole log now; it takes as long as the log is long."""
    call = post("verify_ledger", "/api/v1/ledger/verify", one(Verification), query={"organization": organization})
    return replace(call, wait_s=600)


def export_ledger(organization: Id) -> Call[tuple[str, ...]]:
    """The log as lines of JSON, as they were hashed."""
    call = get("export_ledger", "/api/v1/ledger/export", lines, query={"organization": organization})
    return replace(call, headers={"Accept": "application/x-ndjson"})


def list_tokens(
    *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Token]]:
    return get("list_tokens", "/api/v1/tokens", page(Token), query=pages(limit, order, cursor))


def issue_token(
    organization: Id, *, name: str, days: int, scopes: Collection[str], teams: Collection[Id] | None = None
) -> Call[NewToken]:
    """A token for an orchestrator. Sent once: a token whose answer is lost is nobody's, revoke it."""
    body = given(organization=organization, name=name, days=days, scopes=scopes, teams=teams)
    return post("issue_token", "/api/v1/tokens", one(NewToken), body=body)


def issue_agent_token(agent: Id, *, name: str, days: int) -> Call[NewToken]:
    """A token as which an agent speaks over MCP."""
    body = given(name=name, days=days)
    return post("issue_agent_token", "/api/v1/agents/{agent}/tokens", one(NewToken), body=body, agent=agent)


def revoke_token(token: Id) -> Call[Token]:
    """From here on nobody gets in with it."""
    return post("revoke_token", "/api/v1/tokens/{token}/revoke", one(Token), token=token)


def get_current_token() -> Call[Token]:
    """The token that asks."""
    return get("get_current_token", "/api/v1/tokens/current", one(Token))
