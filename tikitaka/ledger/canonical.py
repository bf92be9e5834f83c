"""Canonical JSON of ledger headers: a profile of RFC 8785 in which implementations cannot differ.

Keys are ASCII lower snake case, numbers are integers within plus or minus 2^53-1, strings are NFC, nothing is null.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from tikitaka.errors import TikiTakaError

MAX_HEADER_BYTES = 16 * 1024
_MAX_INTEGER = 2**53 - 1
_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotCanonical(TikiTakaError):
    """A value cannot be written in canonical form."""

    code = "not_canonical"


def canonical_bytes(value: Any) -> bytes:
    """The one UTF-8 form of `value`; raises NotCanonical that names what does not fit the profile."""
    _check(value, "header")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def canonical_header(header: dict[str, Any]) -> bytes:
    """The bytes of a whole header, at most 16 KiB."""
    data = canonical_bytes(header)
    if len(data) > MAX_HEADER_BYTES:
        raise NotCanonical(f"the header has {len(data)} bytes, more than {MAX_HEADER_BYTES}")
    return data


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
            if not isinstance(key, str) or not _KEY.match(key):
                raise NotCanonical(f"{where} has a key that is not lower snake case")
            _check(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            _check(inner, f"{where}[{position}]")
    else:
        raise NotCanonical(f"{where} is a {type(value).__name__}")
