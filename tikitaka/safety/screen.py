"""The injection screen: does a note order its reader about, imitate its frame, hide a message or carry a command?"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator

from tikitaka.safety.attacks import attacks_in
from tikitaka.safety.findings import Finding, Hit
from tikitaka.safety.frames import frames
from tikitaka.safety.hidden import OVERRIDE, payloads
from tikitaka.safety.intent import sentences
from tikitaka.safety.reveal import encoded, shadows, unspaced
from tikitaka.safety.segmentation import segmented
from tikitaka.safety.shell import shell_shapes
from tikitaka.safety.views import Edit, View, plain
from tikitaka.safety.wordlists import words

Rule = Callable[[str], Iterator[Hit]]

_WORDS = re.compile(r"[A-Za-z]{2,}")
_COMMON = words(
    """
    the and you your all ignore instructions this that with system prompt password send rules not for from show
    print previous reveal
    """
)
_ROTATED = frozenset(codecs.encode(word, "rot13") for word in _COMMON)
_REVERSED = frozenset(word[::-1] for word in _COMMON if len(word) > 2)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_WORD = re.compile(
    r"(?<![A-Za-z0-9@$!|])(?:[A-Za-z]{1,40}[0134578@$!|]{1,40}|[0134578@$]{1,40}[A-Za-z]{1,40})[A-Za-z0134578@$!|]{0,80}"
)
_DIGIT_WORD = re.compile(r"[A-Za-z0134578@$!|]+")
_LINE_END = re.compile(r"\r?\n")
_CHAINED = re.compile(r"(?<![\w-])[A-Za-z']{1,24}(?:[_-][A-Za-z']{1,24}){3,60}")
_HUMPED = re.compile(r"(?<!\w)[A-Z]?[a-z]{0,24}(?:[A-Z][a-z]{0,24}){3,60}(?!\w)")
_HIDDEN_DETAIL = {
    "tags": "Invisible tag characters spell a message: ",
    "selectors": "Variation selectors carry a message: ",
}


def intents(text: str) -> Iterator[Hit]:
    """Every clause that attacks its reader."""
    for start, end in sentences(text):
        for attack in attacks_in(text[start:end]):
            yield Hit(attack.rule, start, end, attack.detail)


RULES: tuple[Rule, ...] = (intents, frames, shell_shapes)


def find_injections(text: str, *, rules: tuple[Rule, ...] = RULES) -> list[Finding]:
    """Why a person must look at this text; empty when nobody needs to."""
    found: dict[tuple[str, int, int], Finding] = {}
    for payload in payloads(text):
        detail = _HIDDEN_DETAIL[payload.kind] + repr(payload.message[:300])
        rule = f"hidden.{payload.kind}"
        found[(rule, payload.start, payload.end)] = Finding(
            rule=rule, family="hidden_text", start=payload.start, end=payload.end, detail=detail
        )
    for match in OVERRIDE.finditer(text):
        turned = Finding(
            rule="hidden.override",
            family="hidden_text",
            start=match.start(),
            end=match.end(),
            detail="From here on a person reads the characters in another order than a program.",
        )
        found[(turned.rule, turned.start, turned.end)] = turned
    for view in _views(text):
        for rule_of in rules:
            for hit in rule_of(view.text):
                _keep(found, view, hit)
    return sorted(found.values(), key=lambda finding: (finding.start, finding.rule))


def _keep(found: dict[tuple[str, int, int], Finding], view: View, hit: Hit) -> None:
    if hit.end <= hit.start:
        return
    start, end = view.span(hit.start, hit.end)
    detail = hit.detail if view.name == "plain" else f"{hit.detail} (Seen once the text was {view.name}.)"
    found.setdefault(
        (hit.rule, start, end),
        Finding(rule=hit.rule, family="injection", start=start, end=end, detail=detail),
    )


def _views(text: str) -> Iterator[View]:
    """The text as it stands and as it reads once a disguise is taken off; each only where its disguise shows."""
    chain = shadows(plain(text))
    yield from chain
    last = chain[-1]
    closed = unspaced(last)
    if closed is not last:
        yield closed
        yield from _parted(closed)
    yield from encoded(last)
    words = set(_WORDS.findall(last.text.lower()))
    if words & _ROTATED:
        yield View("rotated", codecs.encode(last.text, "rot13"), last.starts, last.ends)
    if words & _REVERSED:
        yield View("reversed", last.text[::-1], last.starts[::-1], last.ends[::-1])
    if _LEET_WORD.search(last.text):
        spelled = list(_LEET_WORD.finditer(last.text))
        if len(spelled) > 2:
            spelled = list(_DIGIT_WORD.finditer(last.text))
        yield last.edited("respelled", [(*match.span(), match.group().translate(_LEET)) for match in spelled])
    yield from _unglued(last)


def _unglued(view: View) -> Iterator[View]:
    """Sentences written with other marks than blanks between the words: under_scores, humpedWords, a word a line."""
    text = view.text
    edits: list[Edit] = []
    if text.count("\n") >= 4 and text.count(" ") < text.count("\n") // 2:
        edits = [(match.start(), match.end(), " ") for match in _LINE_END.finditer(text)]
    for match in _CHAINED.finditer(text):
        edits.append((*match.span(), re.sub("[_-]", " ", match.group())))
    for match in _HUMPED.finditer(text):
        edits.append((*match.span(), re.sub("(?<!^)(?=[A-Z])", " ", match.group())))
    if edits:
        yield view.edited("parted", sorted(edits))


def _parted(view: View) -> Iterator[View]:
    parted = segmented(view)
    if parted is not view:
        yield parted
