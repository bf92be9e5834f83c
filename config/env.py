"""Typed reading of the environment: odd values are refused and named; `NAME_FILE` reads the value from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


class Environment:
    """One environment, os.environ by default."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = os.environ if values is None else values

    def text(self, name: str, default: str | None = None) -> str:
        """The value of NAME, or what stands in the file that NAME_FILE points at."""
        path = self._values.get(f"{name}_FILE")
        if path:
            try:
                return Path(path).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error.strerror}") from error
        value = self._values.get(name, default)
        if value is None:
            raise ImproperlyConfigured(f"{name} (or {name}_FILE) is required")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._values.get(name)
        if value is None:
            return default
        if value not in ("0", "1", "true", "false"):
            raise ImproperlyConfigured(f"{name} must be true or false")
        return value in ("1", "true")

    def number(self, name: str, default: int, *, low: int, high: int) -> int:
        value = self._values.get(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and low <= int(value) <= high):
            raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}")
        return int(value)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        value = self._values.get(name, default)
        if value not in allowed:
            raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}")
        return value

    def words(self, name: str, default: str = "") -> list[str]:
        return [word.strip() for word in self._values.get(name, default).split(",") if word.strip()]

    def path(self, name: str, default: Path) -> Path:
        return Path(self._values.get(name) or default).expanduser().absolute()
