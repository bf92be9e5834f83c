"""Rules that every text from outside obeys: what is refused, what is folded, where it is cut."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from tikitaka.errors import Invalid

# Categories that draw nothing: controls, formats, surrogates, separators, and the fillers that Unicode calls letters.
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me"})
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_SURROGATES = re.compile("[\ud800-\udfff]")
_FORBIDDEN_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def digest(text: str) -> str:
    """SHA-256 of the UTF-8 bytes, in lower-case hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def has_visible(text: str) -> bool:
    """True when at least one character would be drawn on a screen."""
    return any(
        unicodedata.category(character) not in _INVISIBLE_CATEGORIES and character not in _INVISIBLE_LETTERS
        for character in text
    )


def cut(text: str, limit: int) -> str:
    """The first `limit` characters; never ends inside a combined character or joined emoji."""
    if len(text) <= limit:
        return text
    end = limit
    while end > 0 and (unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f" or text[end - 1] == "\u200d"):
        end -= 1
    return text[: end or limit]


def one_line(text: str) -> str:
    """White space folded to single blanks, C0 and C1 controls and lone surrogates removed."""
    kept = "".join(c for c in text if c.isspace() or unicodedata.category(c) not in {"Cc", "Cs"})
    return " ".join(kept.split())


def clean_captured(text: str) -> str:
    """Captured output as it may be stored: NUL and other controls become U+FFFD, lone surrogates too."""
    replaced = _FORBIDDEN_CONTROLS.sub(lambda m: m.group() if m.group() == "\x1b" else "\ufffd", text)
    return _SURROGATES.sub("\ufffd", replaced)


def require(name: str, text: object, *, limit: int, blank: bool = False, multiline: bool = True) -> str:
    """`text` when a person or a program may submit it as the field `name`; raises Invalid that names the field."""
    if not isinstance(text, str):
        raise Invalid(**{name: "must be text"})
    if _SURROGATES.search(text):
        raise Invalid(**{name: "contains a lone surrogate"})
    if "\x00" in text:
        raise Invalid(**{name: "contains a NUL character"})
    if _FORBIDDEN_CONTROLS.search(text):
        raise Invalid(**{name: "contains control characters"})
    if not multiline and ("\n" in text or "\r" in text):
        raise Invalid(**{name: "must be one line"})
    if len(text) > limit:
        raise Invalid(**{name: f"is longer than {limit} characters"})
    if not blank and not has_visible(text):
        raise Invalid(**{name: "must not be blank"})
    return text


def name_key(name: str) -> str:
    """What two names are compared by: NFKC, case folded, without blanks, dots, dashes and underscores.

    Names that differ only in those would share a folder on some disk or be mistaken by a reader, so they collide.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(c for c in unicodedata.normalize("NFKC", folded) if c.isalnum())
