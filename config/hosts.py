"""Which workspace root this process sees, and which ones an installation has."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ImproperlyConfigured

from tikitaka.hosts import HOST_CHARS_MAX, is_host_name


def host_name(variable: str, text: str) -> str:
    """The name of a root, or nothing where all processes share one."""
    if text and not is_host_name(text):
        raise ImproperlyConfigured(
            f"{variable} must be letters, digits, - and . ({HOST_CHARS_MAX} at most), a letter or a digit first"
        )
    return text


def host_names(variable: str, texts: Iterable[str], *, own: str) -> tuple[str, ...]:
    """Where new teams may be placed; only here when nothing is said."""
    names = tuple(dict.fromkeys(host_name(variable, text) for text in texts))
    return names or ((own,) if own else ())
