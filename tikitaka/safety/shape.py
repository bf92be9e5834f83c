"""How much a value looks like a secret by its characters alone."""

from __future__ import annotations

import itertools
import re
from enum import IntEnum
from functools import lru_cache


class Grade(IntEnum):
    """From what is surely a word to what nobody types by heart."""

    WORD = 0
    MIXED = 1
    PASSWORD = 2
    RANDOM = 3


_SPLIT = re.compile(r"[-_. /]")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_TECHNICAL = re.compile(
    r"(?i)(?:sha-?[0-9]{1,3}|md[45]|hs256|rs256|es256|ed25519|x25519|secp256[kr]1|p256|"
    r"argon2(?:id?)?|pbkdf2|bcrypt|"
    r"base(?:16|32|58|64)(?:url)?|utf-?(?:8|16|32)|oauth2?|oauth1|http[s23]?|ipv[46]|h2|s3|ec2|"
    r"k8s|k3s|i18n|l10n|a11y|"
    r"aes-?(?:128|192|256)(?:-?(?:gcm|cbc|ctr))?|rsa-?[0-9]{3,4}|tls-?1(?:\.[0-9])?|x509|x86_64|amd64|arm64|"
    r"python-?[23](?:\.[0-9]{1,2}){0,2}|py3[0-9]{0,2}|node-?[0-9]{2}|java-?[0-9]{1,2}|es[0-9]{1,"
    r"4}|php[5-8]|log4j2?|"
    r"v?[0-9]{1,6}(?:\.[0-9]{1,6}){1,3}(?:[-.+]?[a-z]{1,6}[.-]?[0-9.]{0,6})?|v[0-9]{1,3}|[a-z]{2,"
    r"8}-[0-9]{1,10}(?:-[0-9]{1,6})?|rfc-?[0-9]{3,5}|iso-?[0-9]{3,5}|"
    r"(?:us|eu|ap|sa|ca|me|af|il)-[a-z]{4,9}-[0-9][a-z]?|[a-z]{2,9}-(?:east|west|north|south|"
    r"central)[a-z]*-?[0-9][a-z]?|"
    r"[0-9]+(?:ms|s|m|h|d|w|y|kb|mb|gb|k|px|rem|em|x|bit|bits|chars?|days?|hours?|min|minutes?|"
    r"seconds?|th|st|nd|rd)?)"
)
_MARK = re.compile(r"[a-zA-Z]{2,10}[_-](?:[a-z0-9]{2,6}[_-])?")
_CAPITALS = re.compile(r"[A-Z0-9]{16,256}=*")
_CAMEL = re.compile(r"(?:[A-Z]{0,6}[a-z]{2,24}){1,8}[A-Z]{0,6}")
_NUMBERED = re.compile(r"(?:[A-Z]{0,6}[a-z]{2,24}){1,3}[A-Z]{0,6}[0-9]{0,4}")
_WORDY = re.compile(
    r"(?:[A-Z]?[a-z]{2,24}|[A-Z]{2,24}|[0-9]{1,6})(?:[-_.:]{1,2}(?:[A-Z]?[a-z]{1,24}|[A-Z]{1,24}|[0-9]{1,6})){1,16}"
)
_ADDRESS = re.compile(r"\[?[\w.-]{1,120}\]?:[0-9]{2,5}|[A-Za-z_]\w{0,40}\([^)]{0,80}\)?;?")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


def is_uuid(value: str) -> bool:
    return len(value) == 36 and _UUID.fullmatch(value) is not None


def is_hex(value: str) -> bool:
    return _HEX.fullmatch(value) is not None


@lru_cache(maxsize=4096)
def grade(value: str) -> Grade:
    """The grade of a value without its quotes."""
    length = len(value)
    if length < 4 or value.isdigit() or (length < 48 and _TECHNICAL.fullmatch(value)) or _ADDRESS.fullmatch(value):
        return Grade.WORD
    if _is_random(value):
        return Grade.RANDOM
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    symbols = sum(not c.isalnum() and c not in "_-./ :" for c in value)
    if letters == 0 and not symbols:
        return Grade.WORD
    if symbols and digits and letters and length >= 5:
        return Grade.PASSWORD
    if symbols and letters and length >= 6 and _case_changes(value) >= 3:
        return Grade.PASSWORD
    parts = [part for part in _SPLIT.split(value) if part]
    if digits and letters:
        return _with_digits(value, parts, length)
    if symbols and letters and length >= 8:
        return Grade.MIXED
    if len(parts) == 1 and value.isascii() and not (value.isupper() or value.islower()):
        if length >= 8 and _case_changes(value) * 3 >= length:
            return Grade.PASSWORD
        if length >= 12 and _CAMEL.fullmatch(value) is None:
            return Grade.PASSWORD
    return Grade.MIXED if len(parts) >= 4 else Grade.WORD


def _with_digits(value: str, parts: list[str], length: int) -> Grade:
    if len(parts) >= 3:
        tail_number = parts[-1].isdigit() and all(part.isalpha() for part in parts[:-1])
        return Grade.PASSWORD if tail_number and "/" not in value and "." not in value else Grade.MIXED
    if len(parts) == 1 and length >= 6:
        return Grade.PASSWORD
    return Grade.PASSWORD if length >= 8 and len(parts) == 2 and "/" not in value else Grade.MIXED


def _is_random(value: str) -> bool:
    """Whether the characters change class as often as in generated text."""
    length = len(value)
    if length < 12:
        return False
    if is_uuid(value) or _is_grouped(value):
        return True
    mark = _MARK.match(value)
    if mark and len(value) - mark.end() >= 16:
        value = value[mark.end() :]
        length = len(value)
    compact = value.replace("-", "").replace("_", "").rstrip("=")
    if len(compact) >= 16 and is_hex(compact):
        return sum(c.isdigit() for c in compact) >= len(compact) // 6 and not compact.isdigit()
    if ("/" in value and value.count("/") * 5 > length) or " " in value:
        return False
    if value.count("-") + value.count("_") + value.count(".") > length // 6:
        return False
    if length < 20 and _NUMBERED.fullmatch(value):
        return False
    if _CAPITALS.fullmatch(value) and any(c.isdigit() for c in value):
        return True
    if _WORDY.fullmatch(value):
        return False
    changes = _class_changes(value)
    if any(c.isdigit() for c in value):
        return changes * 4 >= length
    return length >= 16 and _case_changes(value) * 10 >= length * 3


def _is_grouped(value: str) -> bool:
    """Generated text in groups of equal length, as license keys and codes are written."""
    groups = value.split("-")
    if len(groups) < 4 or len({len(group) for group in groups[:-1]}) != 1 or not 3 <= len(groups[0]) <= 6:
        return False
    mixed = sum(any(c.isdigit() for c in group) and any(c.isalpha() for c in group) for group in groups)
    return mixed * 2 >= len(groups) and value.replace("-", "").replace("_", "").isalnum()


def _class_changes(value: str) -> int:
    kinds = [0 if c.islower() else 1 if c.isupper() else 2 if c.isdigit() else 3 for c in value]
    return sum(a != b for a, b in itertools.pairwise(kinds))


def _case_changes(value: str) -> int:
    letters = [c.isupper() for c in value if c.isalpha()]
    return sum(a != b for a, b in itertools.pairwise(letters))
