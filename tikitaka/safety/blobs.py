"""Base64, base32 and hexadecimal text decoded, so that what hides inside is looked at as well."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache

_BLOB = re.compile(r"[A-Za-z0-9+/_-]{12,16384}")
_HEX_PAIRS = re.compile(r"[0-9A-Fa-f]{2}(?:[ :,]{1,2}[0-9A-Fa-f]{2}){7,2048}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{16,16384}")
_WORD_LENGTH = 64
_BASE32 = re.compile(r"[A-Z2-7]{16,16384}")


def decoded_blobs(text: str) -> Iterator[tuple[int, int, str]]:
    """Every encoded part with the readable text in it, as (start, end, decoded)."""
    for match in _BLOB.finditer(text):
        start, end = match.span()
        decoded = decode(match.group())
        if decoded:
            while end < len(text) and text[end] == "=" and end - match.end() < 6:
                end += 1
            yield start, end, decoded
    for match in _HEX_PAIRS.finditer(text):
        decoded = _readable(bytes.fromhex(re.sub("[ :,]", "", match.group())))
        if decoded:
            yield *match.span(), decoded


def decode(blob: str) -> str:
    """Readable text encoded by `blob`, or nothing."""
    return _decode_word(blob) if len(blob) <= _WORD_LENGTH else _decode(blob)


@lru_cache(maxsize=4096)
def _decode_word(blob: str) -> str:
    """What is no longer than a word or a path comes again and again."""
    return _decode(blob)


def _decode(blob: str) -> str:
    if _HEX.fullmatch(blob) and len(blob) % 2 == 0:
        found = _readable(bytes.fromhex(blob.removeprefix("0x")))
        if found:
            return found
    found = _readable(_base64(blob))
    if not found and _BASE32.fullmatch(blob):
        found = _readable(_base32(blob))
    return found


def _base64(blob: str) -> bytes:
    usable = blob[: len(blob) - (len(blob) % 4 == 1)]
    try:
        return base64.b64decode(usable.replace("-", "+").replace("_", "/") + "=" * (-len(usable) % 4))
    except (binascii.Error, ValueError):
        return b""


def _base32(blob: str) -> bytes:
    try:
        return base64.b32decode(blob + "=" * (-len(blob) % 8))
    except (binascii.Error, ValueError):
        return b""


def _readable(octets: bytes) -> str:
    """The bytes as text when nearly all of it could have been typed."""
    if len(octets) < 6:
        return ""
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        if len(octets) > 24 and octets[1::2].count(0) > len(octets) // 3:
            text = octets.decode("utf-16-le", "ignore")
        else:
            return ""
    unprintable = sum(not (character.isprintable() or character in "\n\r\t") for character in text)
    return text if unprintable == 0 else ""
