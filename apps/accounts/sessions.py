"""The logged-in person of a request as a principal, with how and when they proved who they are."""

from __future__ import annotations

import hashlib

from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.selectors import principal_of
from tikitaka.authz import Principal
from tikitaka.errors import Forbidden


def principal(request: HttpRequest) -> Principal:
    """Raises Forbidden for anybody who is not logged in."""
    user = request.user
    if not isinstance(user, User):
        raise Forbidden("log in first")
    session = request.session.session_key or ""
    auth: dict[str, object] = {"methods": ["password"], "session": hashlib.sha256(session.encode()).hexdigest()[:16]}
    if user.last_login is not None:
        auth["age_s"] = int((timezone.now() - user.last_login).total_seconds())
    return principal_of(user, auth)
