"""Characters that a reader does not see: which they are, what they carry, how a reviewer is shown them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from tikitaka.safety.findings import merge

# Formats, fillers, bidi controls, joiners, blank letters, musical and shorthand format controls.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f"

INVISIBLE = re.compile(f"[{_INVISIBLE}{_SELECTORS}{_CONTROLS}]+")
TAG_RUN = re.compile(f"[{_TAGS}]+")
SELECTOR_RUN = re.compile(f"[{_SELECTORS}]{{2,4096}}")
ANSI = re.compile("\x1b(?:\\[[0-9;:?<=>]{0,40}[ -/]{0,4}[@-~]|\\][^\x07\x1b]{0,400}(?:\x07|\x1b\\\\)?|[@-Z\\\\^_a-z])?")
_ANY_HIDDEN = re.compile(f"[{_INVISIBLE}{_SELECTORS}{_CONTROLS}{_TAGS}\x1b]")

_UNSEEN = "\u00ad\u034f\u115f\u1160\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufff8"
_DISGUISES = (
    re.compile(f"(?<=[A-Za-z0-9])[{_UNSEEN}]{{1,4096}}(?=[A-Za-z0-9])"),
    re.compile(f"[{_UNSEEN}]{{4,4096}}"),
    ANSI,
    re.compile(f"[{_CONTROLS}]{{1,4096}}"),
)
OVERRIDE = re.compile("[\u202d\u202e]")

_FLAG_BASE = "\U0001f3f4"
_FLAG_END = "\U000e007f"
_REAL_FLAGS = frozenset({"gbeng", "gbsct", "gbwls", "ustx", "usca"})


@dataclass(frozen=True, slots=True)
class Payload:
    """A message carried by characters that draw nothing."""

    kind: str
    start: int
    end: int
    message: str


def payloads(text: str) -> list[Payload]:
    """Messages in tag characters (real regional flags excepted) and in runs of variation selectors."""
    if text.isascii():
        return []
    found = [
        Payload("tags", *match.span(), _tag_text(match.group()))
        for match in TAG_RUN.finditer(text)
        if not is_flag(text, match.start(), match.end())
    ]
    for match in SELECTOR_RUN.finditer(text):
        message = _selector_text(match.group())
        if len(message) >= 3:
            found.append(Payload("selectors", *match.span(), message))
    return found


def disguises(text: str) -> list[tuple[int, int]]:
    """Where something stands that only deceives the eye: inside a Latin word, in long runs, as terminal codes.

    Joiners in emoji and in scripts that need them, and marks of direction beside those, are none.
    """
    if text.isascii() and text.isprintable():
        return []
    return merge(match.span() for pattern in _DISGUISES for match in pattern.finditer(text))


def is_flag(text: str, start: int, end: int) -> bool:
    """Whether the run of tag characters spells a region after a black flag, as the flag of Scotland does."""
    run = text[start:end]
    return start > 0 and text[start - 1] == _FLAG_BASE and run[-1] == _FLAG_END and _tag_text(run) in _REAL_FLAGS


def show_hidden(text: str) -> str:
    """The text with everything invisible made visible, for the eyes of a reviewer."""
    if not _ANY_HIDDEN.search(text):
        return text
    carried = {payload.start: payload for payload in payloads(text)}
    shown: list[str] = []
    at = 0
    while at < len(text):
        payload = carried.get(at)
        if payload:
            shown.append(f"⟦hidden: {payload.message}⟧")
            at = payload.end
            continue
        shown.append(_shown(text, at))
        at += 1
    return "".join(shown)


def _shown(text: str, at: int) -> str:
    character = text[at]
    if not _ANY_HIDDEN.match(character):
        return character
    if character == "\u200d" and 0 < at < len(text) - 1 and _is_pictured(text[at - 1]) and _is_pictured(text[at + 1]):
        return character
    if character == "\ufe0f" and at > 0 and (_is_pictured(text[at - 1]) or text[at - 1] in "#*0123456789"):
        return character
    if TAG_RUN.match(character):
        run_start = at
        while run_start > 0 and TAG_RUN.match(text[run_start - 1]) and at - run_start < 16:
            run_start -= 1
        end = TAG_RUN.match(text, at)
        if end and is_flag(text, run_start, end.end()):
            return character
    return f"⟦U+{ord(character):04X}⟧"


def _is_pictured(character: str) -> bool:
    return unicodedata.category(character) in {"So", "Sk"} or character == "\ufe0f"


def _tag_text(run: str) -> str:
    return "".join(chr(ord(c) - 0xE0000) for c in run if 0xE0020 <= ord(c) <= 0xE007E)


def _selector_text(run: str) -> str:
    """Variation selectors 1 to 256 read as bytes; empty unless they spell printable text."""
    octets = bytes(ord(c) - 0xFE00 if ord(c) < 0xE0100 else ord(c) - 0xE0100 + 16 for c in run)
    message = octets.decode("utf-8", "ignore")
    return message if message and message.isprintable() else ""
