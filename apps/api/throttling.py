"""How often a token, or a person, may ask in a minute; counted in the cache that all processes share."""

from __future__ import annotations

import time

from django.conf import settings
from django.core.cache import cache
from redis import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from tikitaka.errors import TikiTakaError

_MINUTE_S = 60


class CounterAway(TikiTakaError):
    """Requests cannot be counted now; nothing was done, try again."""

    code = "counter_away"


class CallerThrottle(BaseThrottle):
    """Fixed windows of a minute."""

    def __init__(self) -> None:
        self._left_s = 0.0

    def allow_request(self, request: Request, view: object) -> bool:  # noqa: ARG002 the framework's parameters
        if not request.user or not request.user.is_authenticated:
            return True
        now = time.time()
        window = int(now // _MINUTE_S)
        self._left_s = (window + 1) * _MINUTE_S - now
        who = request.user.principal
        key = f"api:{who.auth.get('token', who.id)}:{window}"
        return _count(key) <= settings.TIKITAKA_POLICY.requests_per_minute

    def wait(self) -> float:
        return self._left_s


def _count(key: str) -> int:
    """How many there have been with this key; raises CounterAway, for nobody is let in uncounted."""
    try:
        return 1 if cache.add(key, 1, timeout=2 * _MINUTE_S) else int(cache.incr(key))
    except ValueError:  # the cache was emptied between the two
        return 1
    except RedisError as error:
        raise CounterAway from error
