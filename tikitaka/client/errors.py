"""What a call may end with instead of an answer. None of it holds a token."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tikitaka.client.calls import Reply

_UNREAD = "unreadable"


class ClientError(Exception):
    """The base of everything that this client raises about an exchange with the server."""


class Unreachable(ClientError):
    """The server could not be reached, or did not answer; what was asked for may have been done or not."""


class Unreadable(ClientError):
    """The server answered something that this client does not understand."""


class Refused(ClientError):
    """The server said no: `code` to program against, `detail` to read, `fields` where a value is wrong."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str = "",
        fields: Mapping[str, str] | None = None,
        facts: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.status, self.code, self.detail, self.retry_after_s = status, code, detail, retry_after_s
        self.fields, self.facts = dict(fields or {}), dict(facts or {})
        super().__init__(f"{status} {code}: {detail}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.code, self.detail, self.fields, self.facts, self.retry_after_s)


class Invalid(Refused):
    """400: a value is wrong; `fields` says which."""


class NotAuthenticated(Refused):
    """401: no token, or one that is not valid or not any more."""


class Forbidden(Refused):
    """403: the token may see this, but not do that to it."""


class NotFound(Refused):
    """404: no such object, or none that the token may see."""


class Conflict(Refused):
    """409: not in a state that allows this, somebody was faster, or the key came with another request."""


class TooLarge(Refused):
    """413: the body is larger than the address takes."""


class TooManyRequests(Refused):
    """429: too many in this minute, and longer than the client was told to wait."""


_KINDS: Mapping[int, type[Refused]] = {
    400: Invalid,
    401: NotAuthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    429: TooManyRequests,
}


def refusal_of(reply: Reply) -> Refused:
    """The refusal that an answer is. One that is not ours, such as a proxy's page, has the code `unreadable`."""
    try:
        body = json.loads(reply.content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("code"), str):
        body = {"code": _UNREAD, "detail": "the answer is not in the form of this server"}
    fields, facts = (found if isinstance(found := body.get(name), dict) else {} for name in ("fields", "facts"))
    kind = _KINDS.get(reply.status, Refused)
    return kind(reply.status, body["code"], str(body.get("detail", "")), fields, facts, reply.retry_after_s)
