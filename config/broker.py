"""How jobs travel between processes. A message only hurries: losing or doubling one changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.core.exceptions import ImproperlyConfigured

SCHEMES = ("redis", "rediss", "unix", "amqp", "amqps", "memory")

# Which worker does which job. Only `embed` ever loads the encoder; `nodes` runs agents, `flush` waits for models.
# Jobs on files of a team on a host with a name go to `control.<host>` and `nodes.<host>` (apps.conductor.hosts).
QUEUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "control": ("assign", "plan", "settle", "consider_drift", "land", "remove", "render", "webhooks"),
        "nodes": ("dispatch",),
        "embed": ("embed",),
        "flush": ("flush",),
    }
)


def celery_settings(url: str, *, prefix: str = "") -> dict[str, Any]:
    """Settings for Celery, empty without a broker; an error does not repeat the URL, which may hold a password."""
    if not url:
        return {}
    scheme = url.split("://", 1)[0].split("+", 1)[0]
    if "://" not in url or scheme not in SCHEMES:
        raise ImproperlyConfigured("TIKITAKA_BROKER_URL (or REDIS_URL) must begin with redis://, rediss:// or amqp://")
    return {
        "CELERY_BROKER_URL": url,
        "CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP": True,
        "CELERY_BROKER_TRANSPORT_OPTIONS": _redis_options(prefix) if scheme in ("redis", "rediss", "unix") else {},
        "CELERY_TASK_IGNORE_RESULT": True,
        "CELERY_TASK_ACKS_LATE": True,
        "CELERY_TASK_REJECT_ON_WORKER_LOST": True,
        "CELERY_TASK_SERIALIZER": "json",
        "CELERY_ACCEPT_CONTENT": ["json"],
        "CELERY_TASK_DEFAULT_QUEUE": "control",
        "CELERY_TASK_ROUTES": {f"tikitaka.{job}": {"queue": queue} for queue, jobs in QUEUES.items() for job in jobs},
        "CELERY_TASK_PUBLISH_RETRY": False,
        "CELERY_DB_REUSE_MAX": 10**9,  # the jobs close what is broken or old; Celery would connect anew for each
        "CELERY_WORKER_PREFETCH_MULTIPLIER": 1,
        "CELERY_WORKER_HIJACK_ROOT_LOGGER": False,
        "CELERY_WORKER_SEND_TASK_EVENTS": False,
        "CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS": False,
    }


def _redis_options(prefix: str) -> dict[str, Any]:
    """What a dead worker left unacknowledged comes back after the visibility timeout.

    With kombu's own throttle it is looked for only every hundred seconds (reference: stack, section 3).
    """
    return {
        "visibility_timeout": 3_600,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 2,
        "socket_timeout": 10,
        "socket_keepalive": True,
        "global_keyprefix": prefix,
    }
