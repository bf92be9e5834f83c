"""Signing and checking as the Standard Webhooks specification says (version 1, symmetric).

A receiver may use `verify` from here, any library for Standard Webhooks, or three lines of its own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tikitaka.errors import Invalid

PREFIX = "whsec_"
SECRET_BYTES = 32
TOLERANCE_S = 300
_KEY_BYTES_MIN, _KEY_BYTES_MAX = 24, 64
_VERSION = "v1"


class SignatureFault(StrEnum):
    """Why a call is not taken for one of ours."""

    NO_HEADERS = "no_headers"
    BAD_TIMESTAMP = "bad_timestamp"
    TOO_OLD = "too_old"
    TOO_NEW = "too_new"
    NO_MATCH = "no_match"


@dataclass(frozen=True, slots=True, kw_only=True)
class Genuine:
    """Signed with the secret, and fresh. The same id may come again: whoever has seen it has seen the event."""

    id: str
    timestamp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotGenuine:
    """Not to be believed."""

    reason: SignatureFault


def secret_of(key: bytes) -> str:
    """A secret as people and libraries write it."""
    if not _KEY_BYTES_MIN <= len(key) <= _KEY_BYTES_MAX:
        raise ValueError(f"a key has {_KEY_BYTES_MIN} to {_KEY_BYTES_MAX} bytes")
    return PREFIX + base64.b64encode(key).decode()


def key_of(secret: str) -> bytes:
    """The key in a secret; raises Invalid for what is none, and does not repeat it."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid(secret="must be whsec_ and base64") from error  # noqa: S106 the name of a field
    if not _KEY_BYTES_MIN <= len(key) <= _KEY_BYTES_MAX:
        raise Invalid(secret=f"must hold {_KEY_BYTES_MIN} to {_KEY_BYTES_MAX} bytes")
    return key


def sign(secret: str, *, id: str, timestamp: int, body: bytes) -> str:  # noqa: A002 the specification's word
    """The signature of one message."""
    signed = f"{id}.{timestamp}.".encode() + body
    return f"{_VERSION},{base64.b64encode(hmac.digest(key_of(secret), signed, hashlib.sha256)).decode()}"


def headers(secrets: Sequence[str], *, id: str, timestamp: int, body: bytes) -> dict[str, str]:  # noqa: A002
    """The three headers; one signature for each secret that is valid now."""
    signatures = [sign(secret, id=id, timestamp=timestamp, body=body) for secret in secrets]
    return {"webhook-id": id, "webhook-timestamp": str(timestamp), "webhook-signature": " ".join(signatures)}


def verify(
    secret: str, headers: Mapping[str, str], body: bytes, *, now: int, tolerance_s: int = TOLERANCE_S
) -> Genuine | NotGenuine:
    """Whether a call is ours: `body` is the very bytes that came, `now` the seconds since 1970."""
    given = {name.lower(): value for name, value in headers.items()}
    identity, moment, signatures = (given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (identity and moment and signatures):
        return NotGenuine(reason=SignatureFault.NO_HEADERS)
    if not (moment.isascii() and moment.isdigit() and len(moment) < 16):
        return NotGenuine(reason=SignatureFault.BAD_TIMESTAMP)
    timestamp = int(moment)
    if timestamp < now - tolerance_s:
        return NotGenuine(reason=SignatureFault.TOO_OLD)
    if timestamp > now + tolerance_s:
        return NotGenuine(reason=SignatureFault.TOO_NEW)
    if not (identity.isascii() and signatures.isascii()):
        return NotGenuine(reason=SignatureFault.NO_MATCH)
    expected = sign(secret, id=identity, timestamp=timestamp, body=body).encode()
    matches = [hmac.compare_digest(expected, found.encode()) for found in signatures.split(" ")]
    return Genuine(id=identity, timestamp=timestamp) if any(matches) else NotGenuine(reason=SignatureFault.NO_MATCH)
