"""The database by URL: `sqlite:///path` or `postgres://user:password@host:port/name`."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

# IMMEDIATE because a read snapshot cannot be upgraded once another writer has committed; recursive triggers because
# INSERT OR REPLACE would otherwise pass the ledger's delete trigger.
_SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON;",
}

_REACHED_S = 10  # a server that does not answer is away; libpq alone would wait for minutes
_SILENT_MS = 30_000
_KEPT_S = 60  # opening a connection costs more than most requests; config.asgi closes them


def sqlite(path: Path) -> dict[str, Any]:
    """Settings of an SQLite file."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": dict(_SQLITE_OPTIONS),
        "CONN_MAX_AGE": _KEPT_S,
    }


def from_url(url: str) -> dict[str, Any]:
    """Settings of the database at `url`; an error does not repeat the URL, which holds a password."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return sqlite(Path(unquote(parts.path)))
    if parts.scheme not in ("postgres", "postgresql") or not parts.path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL must be sqlite:///path or postgres://user:password@host:port/name")
    return {
        "ENGINE": "config.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": _KEPT_S,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": _REACHED_S, "tcp_user_timeout": _SILENT_MS},
    }
