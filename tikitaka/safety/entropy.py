"""The last net: generated text without a known format, when something next to it hints at a secret."""

from __future__ import annotations

from collections.abc import Iterator

from tikitaka.safety.allow import is_harmless
from tikitaka.safety.blobs import decode
from tikitaka.safety.findings import Hit
from tikitaka.safety.patterns import Pattern
from tikitaka.safety.shape import Grade, grade, is_hex, is_uuid

_RUN = Pattern(r"[A-Za-z0-9+/=_.~!@#$%^&*()-]{20,}")
_HINT = Pattern(
    r"(?i)\b(?:secret|token|credential|password|passphrase|api[ _-]?key|auth(?:enticate|"
    r"entication|orization)?|bearer|private key|leak(?:ed)?|revoke|"
    r"rotate|do not (?:share|commit)|keep (?:it )?(?:safe|private)|sensitive|log ?in)\b"
)
_ALONE = Pattern(r"[A-PR-Za-z0-9][A-Za-z0-9+/_-]{31,}={0,2}")
_DIGEST = Pattern(
    r"(?i)(?:sha-?[0-9]{1,3}|md5|digest|integrity|checksum|etag|fingerprint|hash|commit|revision|"
    r"public|cert|uuid|trace|cursor|id)\W{0,4}$"
)


def entropy(text: str) -> Iterator[Hit]:
    """Random runs near a hint; and a note that is nothing but one random run."""
    stripped = text.strip()
    whole = len(stripped) >= 24 and not any(character.isspace() for character in stripped)
    if whole:
        if (_ALONE.fullmatch(stripped) and _is_secret(stripped, 32)) or _is_symbol_soup(stripped):
            start = text.index(stripped)
            yield Hit("entropy.alone", start, start + len(stripped), "Nothing but generated text.")
        return
    if not _HINT.search(text):
        return
    for match in _RUN.finditer(text):
        start, end = match.span()
        value = match.group().strip(".()*=")
        if not _is_secret(value, 24):
            continue
        near = text[max(0, start - 60) : start] + " " + text[end : end + 60]
        if _HINT.search(near) and not _DIGEST.search(text[max(0, start - 20) : start]):
            begin = text.index(value, start)
            yield Hit(
                "entropy.hinted",
                begin,
                begin + len(value),
                "Generated text next to a word that hints at a secret.",
            )


def _is_secret(value: str, least: int) -> bool:
    if (
        len(value) < least
        or is_uuid(value)
        or is_hex(value)
        or is_harmless(value)
        or "://" in value
        or "&" in value
        or decode(value)
    ):
        return False
    if not (any(c.islower() for c in value) and any(c.isupper() for c in value) and any(c.isdigit() for c in value)):
        return False
    return grade(value) == Grade.RANDOM and value.count("/") * 12 <= len(value) and value.count(".") < 3


def _is_symbol_soup(value: str) -> bool:
    """A key such as frameworks generate for themselves: symbols and digits all over, no path and no call."""
    if value.count("%") * 6 > len(value) or value.count("&#") * 12 > len(value):
        return False
    if "\\" in value or "[a-z" in value.lower():
        return False
    symbols = sum(character in "!@#$%^&*(=+)~" for character in value)
    return len(value) >= 40 and symbols * 6 >= len(value) and any(c.isdigit() for c in value) and "/" not in value
