"""What is asked of the server, as a value: both clients send the same calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID, uuid4

from tikitaka.client.secret import Secret, secret

T = TypeVar("T")
Id = UUID | str
KEY = "Idempotency-Key"
RESUME = "Last-Event-ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, read to its end."""

    status: int
    content: bytes
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request. `repeat` says that sending it twice does no more than sending it once."""

    operation: str
    method: str
    path: str
    read: Callable[[Reply], T]
    places: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeat: bool = False
    token: Secret | None = None
    wait_s: float = 0
    ended: Call[T] | None = None
    """What to ask, with the client's own token, when the answer was lost and the call's token has ended with it."""

    @property
    def target(self) -> str:
        """The path with its places filled, for the request line."""
        return self.path.format(**{name: quote(value, safe="") for name, value in self.places.items()})


def get(
    operation: str,
    path: str,
    read: Callable[[Reply], T],
    *,
    query: Mapping[str, Any] | None = None,
    **places: Id,
) -> Call[T]:
    """A call that only looks."""
    return Call(
        operation=operation, method="GET", path=path, read=read, places=_texts(places), query=_texts(query), repeat=True
    )


def post(
    operation: str,
    path: str,
    read: Callable[[Reply], T],
    *,
    body: Mapping[str, Any] | None = None,
    query: Mapping[str, Any] | None = None,
    **places: Id,
) -> Call[T]:
    """A call that does something, sent once: who does not know whether it was done looks first."""
    sent = given(**(body or {}))
    return Call(
        operation=operation, method="POST", path=path, read=read, places=_texts(places), query=_texts(query), body=sent
    )


def keyed(call: Call[T], key: str | None, **headers: str) -> Call[T]:
    """The same call under a key, made here unless the caller keeps one: it is done once however often it is sent."""
    return replace(call, repeat=True, headers={**headers, KEY: key or uuid4().hex})


def of_attempt(call: Call[T], token: Secret | str | None, *, repeat: bool, ended: Call[T] | None = None) -> Call[T]:
    """The same call with the token of an attempt; with the client's own where that is the attempt's already."""
    return replace(call, repeat=repeat, token=None if token is None else secret(token), ended=ended)


def given(**values: Any) -> dict[str, Any]:
    """The values that were given, as JSON knows them; None means: left out."""
    return {name: plain(value) for name, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """Ids and times as text, inside lists and objects too."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes):
        return [plain(inner) for inner in value]
    return value


def _texts(values: Mapping[str, Any] | None) -> dict[str, str]:
    found = given(**(values or {}))
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in found.items()}
