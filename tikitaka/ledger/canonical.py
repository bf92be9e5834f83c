"""Canonical JSON of ledger headers: a profile of RFC 8785 in which implementations cannot differ.

Keys are ASCII lower snake case, numbers are integers within plus or minus 2^53-1, strings are NFC, nothing is null.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from json.encoder import encode_basestring as _quoted
from typing import Any

from tikitaka.errors import TikiTakaError

MAX_HEADER_BYTES = 16 * 1024
_MAX_INTEGER = 2**53 - 1
_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class NotCanonical(TikiTakaError):
    """A value cannot be written in canonical form."""

    code = "not_canonical"


def canonical_bytes(value: Any) -> bytes:
    """The one UTF-8 form of `value`; raises NotCanonical that names what does not fit the profile."""
    return canonical_text(value, "header").encode()


def canonical_text(value: Any, where: str) -> str:
    """The same as text; `where` is what an error calls the value."""
    text = _plainly(value)
    if text is None:
        _check(value, where)
        text = _ENCODER.encode(value)
    return text


def canonical_header(header: dict[str, Any]) -> bytes:
    """The bytes of a whole header, at most 16 KiB."""
    return header_bytes(canonical_text(header, "header"))


def header_bytes(text: str) -> bytes:
    """The bytes of a header that is in canonical form already, at most 16 KiB."""
    data = text.encode()
    if len(data) > MAX_HEADER_BYTES:
        raise NotCanonical(f"the header has {len(data)} bytes, more than {MAX_HEADER_BYTES}")
    return data


def _plainly(value: Any) -> str | None:
    """What nearly every header is made of, checked and written in one go; None leaves the value to those who name."""
    kind = value.__class__
    if kind is str:
        return _quoted(value) if value.isascii() else None
    if kind is int:
        return str(value) if -_MAX_INTEGER <= value <= _MAX_INTEGER else None
    if kind is not dict or not all(map(_is_key, value)):
        return None
    written = []
    for key in sorted(value):
        inner = value[key]
        text = _quoted(inner) if inner.__class__ is str and inner.isascii() else _plainly(inner)
        if text is None:
            return None
        written.append(f'"{key}":{text}')
    return "{" + ",".join(written) + "}"


@lru_cache(maxsize=1024)
def _is_key(key: Any) -> bool:
    return isinstance(key, str) and _KEY.match(key) is not None


def _check(value: Any, where: str) -> None:
    if isinstance(value, str):
        if value.isascii():
            return
        if not unicodedata.is_normalized("NFC", value):
            raise NotCanonical(f"{where} is not in NFC")
        if _SURROGATE.search(value):
            raise NotCanonical(f"{where} holds a lone surrogate")
    elif isinstance(value, bool):
        return
    elif isinstance(value, int):
        if abs(value) > _MAX_INTEGER:
            raise NotCanonical(f"{where} is out of the integer range")
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not _is_key(key):
                raise NotCanonical(f"{where} has a key that is not lower snake case")
            _check(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            _check(inner, f"{where}[{position}]")
    else:
        raise NotCanonical(f"{where} is a {type(value).__name__}")
