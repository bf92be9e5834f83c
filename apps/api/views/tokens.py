"""Tokens: people make them, and a token may look at itself and end itself."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Organization, ServiceToken
from apps.accounts.services.tokens import Issued, access_token, revoke_token
from apps.api.reading import Rows
from apps.api.shapes.base import Nothing, PageQuery
from apps.api.shapes.memory import NewAgentToken, NewToken, NewTokenShape, TokenShape
from apps.api.views.base import Door, page_of
from apps.conductor.tokens import issue_service_token, issue_token_for_agent
from apps.ledger.rows import Condition
from apps.teams.models import Agent
from tikitaka.authz import Permission, TokenKind
from tikitaka.errors import NotFound

MANAGE = Permission.TOKENS_MANAGE
_KEPT = Condition("kind <> %s", (TokenKind.ATTEMPT.value,))


class Tokens(Door):
    names: ClassVar = {"GET": "list_tokens", "POST": "issue_token"}

    @extend_schema(parameters=[PageQuery], responses=page_of(TokenShape))
    def get(self, request: Request) -> Response:
        """Who has a token, and for what. Those of attempts, which live for minutes, are not among them."""
        return self.page(self.rows(ServiceToken, path="organization").having(_KEPT), TokenShape)

    @extend_schema(request=NewToken, responses={201: NewTokenShape})
    def post(self, request: Request) -> Response:
        """A token for an orchestrator, shown once. A person makes it, no machine; no key repeats it."""
        asked = NewToken.read(request)
        organization = self.reach(Organization, asked.pop("organization"), MANAGE, path="pk")
        scopes = {Permission(scope) for scope in asked.pop("scopes")}
        return _issued(issue_service_token(actor=self.actor, organization=organization, scopes=scopes, **asked))


class AgentTokens(Door):
    names: ClassVar = {"POST": "issue_agent_token"}

    @extend_schema(request=NewAgentToken, responses={201: NewTokenShape})
    def post(self, request: Request, agent: UUID) -> Response:
        """A token as which an agent speaks over MCP, shown once."""
        asked = NewAgentToken.read(request)
        found = self.reach(Agent, agent, MANAGE, select="organization")
        return _issued(issue_token_for_agent(actor=self.actor, agent=found, **asked))


class CurrentToken(Door):
    names: ClassVar = {"GET": "get_current_token"}

    @extend_schema(responses=TokenShape)
    def get(self, request: Request) -> Response:
        """The token that asks."""
        if self.actor.grant is None:
            raise NotFound("you did not come with a token")
        return Response(self.shown(ServiceToken, UUID(str(self.actor.auth["token"])), TokenShape))


class TokenRevocation(Door):
    names: ClassVar = {"POST": "revoke_token"}

    @extend_schema(request=Nothing, responses=TokenShape)
    def post(self, request: Request, token: UUID) -> Response:
        """From here on nobody gets in with it. Doing it twice changes nothing."""
        Nothing.read(request)
        revoke_token(actor=self.actor, token=access_token(self.actor, token))
        return Response(self.shown(ServiceToken, token, TokenShape))


def _issued(issued: Issued) -> Response:
    found = Rows(ServiceToken).where(id=issued.token.pk).one(TokenShape)
    return Response({**(found or {}), "token": str(issued.shown)}, status=201, headers={"Cache-Control": "no-store"})
