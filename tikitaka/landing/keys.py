"""The skill key: the only part of a path that ever comes from a note, and the rule that makes it harmless."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MIN_KEY = 3
MAX_KEY = 64
_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_PATH_CHARACTERS = frozenset("/\\.")


def is_skill_key(key: str) -> bool:
    """True for 3 to 64 characters of `[a-z0-9]+(-[a-z0-9]+)*`."""
    return MIN_KEY <= len(key) <= MAX_KEY and _KEY.match(key) is not None


def fold_skill_key(proposed: str, *, content: str) -> str | None:
    """The key that a proposed name folds to; None when it holds a path character.

    Folded to ASCII; when fewer than three characters remain, `note-` and 8 hex digits of the content's SHA-256.
    """
    if _PATH_CHARACTERS.intersection(proposed):
        return None
    decomposed = unicodedata.normalize("NFKD", proposed).encode("ascii", "ignore").decode().lower()
    if _PATH_CHARACTERS.intersection(decomposed):
        return None
    key = re.sub(r"[^a-z0-9]+", "-", decomposed).strip("-")[:MAX_KEY].rstrip("-")
    if len(key) < MIN_KEY:
        return "note-" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return key
