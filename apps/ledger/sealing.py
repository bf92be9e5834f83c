"""Personal text beside the chain: a salted commitment in the header, the text encrypted under a key per subject."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from apps.ledger.models import SealedValue, SubjectKey
from apps.ledger.rows import equal, every, insert, instances
from tikitaka.ledger.entries import commitment

_NONCE = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedField:
    """One personal value on its way into the store: which entry and field, whose key, salt and text."""

    entry: UUID
    field: str
    subject: str
    salt: bytes
    value: str
    commitment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A sealed value in the clear, with the salt that shows it belongs to its commitment."""

    value: str
    salt: bytes


def seal_fields(entry: UUID, values: Mapping[str, str], *, subject: str) -> list[SealedField]:
    """Salts and commitments of the personal fields of one entry; nothing is stored yet."""
    fields = []
    for name, value in values.items():
        salt = os.urandom(32)
        fields.append(
            SealedField(
                entry=entry,
                field=name,
                subject=subject,
                salt=salt,
                value=value,
                commitment=commitment(name, salt, value),
            )
        )
    return fields


def store(organization: UUID, fields: Sequence[SealedField]) -> None:
    """Encrypts and saves; the subject's key is made on first use."""
    keys: dict[str, tuple[SubjectKey, bytes]] = {}
    rows = []
    for item in fields:
        if item.subject not in keys:
            keys[item.subject] = _key_of(organization, item.subject)
        row, key = keys[item.subject]
        nonce = os.urandom(_NONCE)
        plain = json.dumps({"salt": item.salt.hex(), "value": item.value}).encode()
        ciphertext = nonce + AESGCM(key).encrypt(nonce, plain, _bound_to(item.entry, item.field))
        rows.append(SealedValue(entry_id=item.entry, field=item.field, ciphertext=ciphertext, key=row))
    if rows:
        insert(*rows)


def open_value(sealed: SealedValue) -> Opened | None:
    """The value in the clear; None when its key was destroyed. Raises InvalidTag when the ciphertext was changed."""
    wrapped = sealed.key.wrapped
    if wrapped is None:
        return None
    key = _unwrap(bytes(wrapped), sealed.key.organization_id, sealed.key.subject)
    data = bytes(sealed.ciphertext)
    plain = AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], _bound_to(sealed.entry_id, sealed.field))
    document = json.loads(plain)
    return Opened(value=document["value"], salt=bytes.fromhex(document["salt"]))


def seal_text(organization: UUID, subject: str, text: str, *, bound_to: UUID) -> bytes:
    """Text that is kept beside the ledger under a key of the same kind; another sealing key finds it as well."""
    _, key = _key_of(organization, subject)
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, text.encode(), bound_to.bytes)


def open_text(organization: UUID, subject: str, data: bytes, *, bound_to: UUID) -> str:
    """What seal_text sealed. Raises InvalidTag when its key is gone, or when it was sealed for something else."""
    row = SubjectKey.objects.filter(organization_id=organization, subject=subject).first()
    if row is None or row.wrapped is None or len(data) <= _NONCE:
        raise InvalidTag
    key = _unwrap(bytes(row.wrapped), organization, subject)
    return AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], bound_to.bytes).decode()


def matches(sealed: SealedValue, expected: str | None) -> bool:
    """True when the sealed value, if it can still be opened, is the one that the header commits to."""
    try:
        opened = open_value(sealed)
    except InvalidTag:
        return False
    return opened is None or commitment(sealed.field, opened.salt, opened.value) == expected


def _key_of(organization: UUID, subject: str) -> tuple[SubjectKey, bytes]:
    known = instances(SubjectKey, every((equal("organization_id", organization), equal("subject", subject)))).ask()
    row = known[0] if known else _new_key(organization, subject)
    if row.wrapped is None:
        raise RuntimeError("the key of this subject was destroyed")
    return row, _unwrap(bytes(row.wrapped), organization, subject)


def _new_key(organization: UUID, subject: str) -> SubjectKey:
    """Made here, or by somebody else at the same time."""
    wrapped = _wrapped_key(organization, subject)
    row, _ = SubjectKey.objects.get_or_create(
        organization_id=organization, subject=subject, defaults={"wrapped": wrapped}
    )
    return row


def rewrapped(row: SubjectKey, *, old: str) -> bytes | None:
    """The subject's key wrapped under the configured master key; None when it is already.

    Raises InvalidTag when neither that one nor `old` opens it, and never touches the row.
    """
    wrapped = bytes(row.wrapped or b"")
    try:
        _unwrap(wrapped, row.organization_id, row.subject)
    except InvalidTag:
        key = _unwrap(wrapped, row.organization_id, row.subject, master=old)
        return _wrap(key, row.organization_id, row.subject)
    return None


def _wrapped_key(organization: UUID, subject: str) -> bytes:
    return _wrap(os.urandom(32), organization, subject)


def _wrap(key: bytes, organization: UUID, subject: str) -> bytes:
    nonce = os.urandom(_NONCE)
    wrapping = _wrapping_key(organization, settings.TIKITAKA_SEALING_KEY)
    return nonce + AESGCM(wrapping).encrypt(nonce, key, subject.encode())


def _unwrap(wrapped: bytes, organization: UUID, subject: str, *, master: str | None = None) -> bytes:
    """Raises InvalidTag when the master key, which is the configured one by default, is not the one that wrapped it."""
    if len(wrapped) <= _NONCE:
        raise InvalidTag  # cut off, which the cipher would call by another name
    wrapping = _wrapping_key(organization, settings.TIKITAKA_SEALING_KEY if master is None else master)
    return AESGCM(wrapping).decrypt(wrapped[:_NONCE], wrapped[_NONCE:], subject.encode())


def _wrapping_key(organization: UUID, master: str) -> bytes:
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=organization.bytes, info=b"tikitaka/subject-keys/v1")
    return derived.derive(hashlib.sha256(master.encode()).digest())


def _bound_to(entry: UUID, field: str) -> bytes:
    return f"{entry}/{field}".encode()
