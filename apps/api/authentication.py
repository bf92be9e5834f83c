"""Who asks: a machine with a bearer token, or a person with the session of the console."""

from __future__ import annotations

from dataclasses import dataclass

from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.services.tokens import principal_of_token
from apps.accounts.sessions import principal
from apps.conductor.refusals import Refusals
from apps.conductor.tokens import still_bound
from tikitaka.authz import Principal
from tikitaka.errors import TikiTakaError

refused_callers = Refusals("api")


@dataclass(frozen=True, slots=True)
class Caller:
    """What the framework calls a user."""

    principal: Principal
    is_authenticated: bool = True


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer tk_…`. What is wrong with a token is not said."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        found = principal_of_token(words[1].decode("latin-1")) if len(words) == 2 else None
        if found is None or not still_bound(found):
            refused_callers.add()
            raise AuthenticationFailed("the token is not valid")
        return Caller(found), None

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 the framework's parameters
        return 'Bearer realm="tikitaka"'


class PersonAuthentication(SessionAuthentication):
    """A person who is logged in at the console; what changes anything needs the CSRF token."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        found = super().authenticate(request)
        if found is None:
            return None
        try:
            return Caller(principal(request._request)), None  # noqa: SLF001 the only way to Django's own request
        except TikiTakaError as refused:
            raise AuthenticationFailed(refused.detail) from refused


def actor_of(request: Request) -> Principal:
    """The principal of an authenticated request."""
    caller: Caller = request.user
    return caller.principal
