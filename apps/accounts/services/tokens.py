"""Issuing, showing and revoking the tokens of machines."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from apps.accounts.models import Organization, ServiceToken
from apps.accounts.selectors import held_by
from apps.accounts.services.authorize import authorize
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.queries import Query, Rows
from apps.ledger.services import recording
from apps.ledger.sql import as_moment, as_uuid, document
from tikitaka.authz import (
    MACHINE_SCOPES,
    Credential,
    Permission,
    Principal,
    PrincipalKind,
    TokenGrant,
    TokenKind,
    read_token,
)
from tikitaka.errors import Invalid, NotFound
from tikitaka.ledger.events import TokenIssued, TokenRevoked
from tikitaka.policy import Policy
from tikitaka.text import require

_USED_S = 60
_SCOPES = {scope.value: scope for scope in Permission}
_COLUMNS = (
    "id, organization_id, kind, name, secret_digest, scopes, teams, agent_id, attempt_id,"
    " expires_at, revoked_at, last_used_at"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A token that was just made; `shown` is the whole of it and is never to be had again."""

    token: ServiceToken
    shown: Credential


def issue_token(
    *,
    actor: Principal,
    organization: Organization,
    name: str,
    scopes: Collection[Permission],
    days: int,
    policy: Policy,
    teams: Collection[UUID] | None = None,
) -> Issued:
    """A token for an orchestrator. It holds no more than whoever issues it, and nothing that only people may."""
    _authorize(actor, organization.pk, organization, organization.pk)
    refused = set(scopes) - (MACHINE_SCOPES & held_by(actor, organization))
    if refused or not scopes:
        allowed = ", ".join(sorted(scope.value for scope in MACHINE_SCOPES))
        raise Invalid(scopes=f"must be some of: {allowed}")
    return _issue(
        actor,
        organization.pk,
        name,
        days,
        policy,
        kind=TokenKind.SERVICE,
        scopes=sorted(scope.value for scope in scopes),
        teams=None if teams is None else sorted(str(team) for team in teams),
    )


def issue_agent_token(
    *, actor: Principal, organization: Organization, agent: UUID, team: UUID, name: str, days: int, policy: Policy
) -> Issued:
    """A token as which one agent speaks over MCP; whoever calls has made sure that the agent is of that team."""
    _authorize(actor, organization.pk, organization, agent)
    return _issue(
        actor, organization.pk, name, days, policy, kind=TokenKind.AGENT, scopes=[], teams=[str(team)], agent_id=agent
    )


def issue_attempt_token(
    *, organization: UUID, team: UUID, agent: UUID, attempt: UUID, expires_at: datetime
) -> Credential:
    """A token that dies with the attempt; no entry of its own, the attempt's start is one."""
    shown = _credential()
    ServiceToken.objects.create(
        organization_id=organization,
        kind=TokenKind.ATTEMPT.value,
        name="attempt",
        prefix=shown.prefix,
        secret_digest=shown.digest,
        teams=[str(team)],
        agent_id=agent,
        attempt_id=attempt,
        created_at=clock.now(),
        expires_at=expires_at,
    )
    return shown


def revoke_token(*, actor: Principal, token: ServiceToken) -> None:
    """From here on nobody gets in with it. A token may revoke itself; doing it twice changes nothing."""
    if actor.id != token.pk:
        _authorize(actor, token.organization_id, token.organization, token.pk)
    with recording(token.organization_id, actor=actor.actor) as ledger:
        alive = ServiceToken.objects.filter(pk=token.pk, revoked_at__isnull=True)
        if alive.update(revoked_at=clock.now()):
            ledger.record(TokenRevoked(token=token.pk))
    token.refresh_from_db()


def forget_attempt_tokens() -> int:
    """Removes tokens of attempts that are over by their time; how many. They died with their attempts before."""
    over = ServiceToken.objects.filter(kind=TokenKind.ATTEMPT.value, expires_at__lt=clock.now())
    return over.delete()[0]


def principal_of_token(text: str) -> Principal | None:
    """Who shows a token; None where it is unknown, wrong, over or revoked, without saying which.

    Whether the attempt or the agent that it is bound to still is one is for the door to ask that lets it in.
    """
    shown = read_token(text)
    known = _known(shown.prefix).ask() if shown is not None else None
    if shown is None or known is None or not shown.matches(known[0].secret_digest):
        return None
    token, now = known
    if token.revoked_at is not None or token.expires_at <= now:
        return None
    if token.last_used_at is None or (now - token.last_used_at).total_seconds() > _USED_S:
        ServiceToken.objects.filter(pk=token.id).update(last_used_at=now)
    return _principal(token)


class _Known(NamedTuple):
    """The columns of a token by which somebody is let in."""

    id: UUID
    organization: UUID
    kind: TokenKind
    name: str
    secret_digest: str
    scopes: list[str]
    teams: list[str] | None
    agent: UUID | None
    attempt: UUID | None
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


def _known(prefix: str) -> Query[tuple[_Known, datetime] | None]:
    """The row and the time. Hand-written: every request of a machine asks it."""
    return Query(f"SELECT {clock.column()}, {_COLUMNS} FROM accounts_servicetoken WHERE prefix = %s", [prefix], _read)  # noqa: S608 constants


def _read(rows: Rows) -> tuple[_Known, datetime] | None:
    if not rows:
        return None
    now, identity, organization, kind, name, digest, scopes, teams, agent, attempt, *times = rows[0]
    expires_at, revoked_at, last_used_at = map(as_moment, times)
    assert expires_at is not None
    token = _Known(
        as_uuid(identity),
        as_uuid(organization),
        TokenKind(kind),
        name,
        digest,
        document(scopes),
        document(teams),
        as_uuid(agent) if agent else None,
        as_uuid(attempt) if attempt else None,
        expires_at,
        revoked_at,
        last_used_at,
    )
    return token, clock.read(now)


def _principal(token: _Known) -> Principal:
    grant = TokenGrant(
        kind=token.kind,
        organization=token.organization,
        teams=None if token.teams is None else frozenset(map(UUID, token.teams)),
        scopes=frozenset(_SCOPES[scope] for scope in token.scopes if scope in _SCOPES),
        agent=token.agent,
        attempt=token.attempt,
    )
    auth = {"methods": ["token"], "token": str(token.id)}
    if token.kind is TokenKind.SERVICE:
        return Principal(kind=PrincipalKind.SERVICE, id=token.id, name=token.name, auth=auth, grant=grant)
    return Principal(kind=PrincipalKind.AGENT, id=token.agent, name=token.name, auth=auth, grant=grant)


def access_token(actor: Principal, token: UUID) -> ServiceToken:
    """A token that the person manages, or the very token that asks; anything else is the same NotFound."""
    found = ServiceToken.objects.filter(pk=token).exclude(kind=TokenKind.ATTEMPT.value).select_related("organization")
    row = found.first()
    if row is None or (actor.id != row.pk and Permission.TOKENS_MANAGE not in held_by(actor, row.organization)):
        raise NotFound("no such token")
    return row


def _authorize(actor: Principal, organization: UUID, container: Organization, subject: UUID) -> None:
    authorize(actor, Permission.TOKENS_MANAGE, container, organization=organization, object_id=subject)


def _issue(actor: Principal, organization: UUID, name: str, days: int, policy: Policy, **columns: object) -> Issued:
    name = require("name", name.strip(), limit=policy.name_chars, multiline=False)
    if not 1 <= days <= policy.token_days_max:
        raise Invalid(days=f"must be from 1 to {policy.token_days_max}")
    shown, now = _credential(), clock.now()
    with recording(organization, actor=actor.actor) as ledger:
        token = ServiceToken.objects.create(
            id=new_id(),
            organization_id=organization,
            name=name,
            prefix=shown.prefix,
            secret_digest=shown.digest,
            created_by_id=actor.id,
            created_at=now,
            expires_at=now + timedelta(days=days),
            **columns,
        )
        ledger.record(
            TokenIssued(
                token=token.pk,
                kind=token.kind,
                scopes=tuple(token.scopes),
                teams=None if token.teams is None else tuple(token.teams),
                agent=token.agent_id,
                expires_at=token.expires_at.isoformat(),
            )
        )
    return Issued(token=token, shown=shown)


def _credential() -> Credential:
    return Credential(secrets.token_hex(6), secrets.token_urlsafe(32))
