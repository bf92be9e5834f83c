"""How an exchange with the server goes, without sending anything: what is tried again, when, and what it ends with.

An exchange is a generator of steps. Whoever drives it sends what it says and waits as long as it says.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from tikitaka.client.calls import Call, Reply
from tikitaka.client.errors import ClientError, Conflict, NotAuthenticated, Unreachable, refusal_of

T = TypeVar("T")
_RETRIED = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Send:
    """Send the call. What comes back is a Reply, or Lost."""

    call: Call[Any]


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came; `kind` names what happened. The library's own error is not kept: it holds the request."""

    kind: str


Steps = Generator[Send | Wait, Reply | Lost | None, T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often a call is tried, and how long is waited: twice as long each time, by chance up to that.

    `asked_s` is the longest pause that the server may ask for; its windows are of a minute.
    """

    tries: int = 5
    first_s: float = 0.25
    longest_s: float = 15.0
    asked_s: float = 65.0

    def pause_s(self, tries: int, found: Reply | Lost) -> float | None:
        """Seconds until the next try; None when there is none."""
        if tries >= self.tries or (isinstance(found, Reply) and found.status not in _RETRIED):
            return None
        asked = found.retry_after_s if isinstance(found, Reply) else None
        if asked is not None and asked > self.asked_s:
            return None
        # Chance keeps many clients from coming back at the same moment; it decides nothing that must not be guessed.
        chance = random.uniform(0, min(self.longest_s, self.first_s * 2 ** (tries - 1)))  # noqa: S311
        return chance + (asked or 0)


def perform(call: Call[T], patience: Patience) -> Steps[T]:
    """Sends a call until it is answered. Only what may be repeated is; the rest is sent once."""
    tries, lost = 0, False
    while True:
        found = yield Send(call)
        assert found is not None
        tries += 1
        if isinstance(found, Reply) and 200 <= found.status < 300:
            return call.read(found)
        pause = patience.pause_s(tries, found) if call.repeat else None
        lost = lost or _may_be_done(found)
        if pause is None:
            break
        yield Wait(pause)
    error = error_of(found)
    if lost and call.ended is not None and isinstance(error, NotAuthenticated | Conflict):
        try:
            return (yield from perform(call.ended, patience))
        except ClientError:
            pass  # what the server said about the call itself says more
    raise error


def error_of(found: Reply | Lost) -> ClientError:
    """What a call ends with that is not tried again."""
    if isinstance(found, Lost):
        return Unreachable(f"the server did not answer: {found.kind}")
    return refusal_of(found)


def _may_be_done(found: Reply | Lost) -> bool:
    """True where the server may have done what it was asked, and nobody was told."""
    return isinstance(found, Lost) or found.status in (502, 504)
