"""Where requests are counted: in the one process of the embedded default, in Redis where several answer."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured


def shared_cache(url: str) -> dict[str, Any]:
    """The cache that `url` names; without one it is this process's own."""
    if not url:
        return {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "tikitaka"}
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ImproperlyConfigured("TIKITAKA_CACHE_URL must begin with redis://, rediss:// or unix://")
    return {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": url, "KEY_PREFIX": "tikitaka"}
