"""Whether a new note says again, or may change, what an existing note says. Nothing is ever merged here.

Cosine cannot tell the same from the opposite, so nearness alone makes no duplicate (reference/routing.md
section 3).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.notes.contract import content_key
from tikitaka.policy import Policy
from tikitaka.ports import Vector
from tikitaka.routing.vectors import cosine_bp
from tikitaka.routing.words import sentence_spans, tokens

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SENTENCE_BREAK = re.compile(r"[.!?:;。！？]")
_NUMBER_NAMES = """
zero one two three four five six seven eight nine ten twelve half twice
"""
_NUMBER_WORDS = frozenset(_NUMBER_NAMES.split())
_NEGATION_WORDS = """
not no never none nobody nothing neither nor without cannot don't doesn't isn't aren't won't mustn't
can't shouldn't forbidden nicht kein keine keinen nie niemals ne pas jamais sans nunca jamás sin non mai
senza niet geen
"""
_CHANGE_WORDS = """
now instead longer anymore replaced replaces replace moved moves retired deprecated renamed switched
changed changes became becomes formerly previously jetzt statt stattdessen ersetzt désormais maintenant
remplacé plutôt ahora reemplazado ora invece
"""
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_CHANGES = frozenset(_CHANGE_WORDS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNote:
    id: str
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`of` is the existing note that is repeated or perhaps updated; `similarity_bp` is its nearness."""

    kind: Literal["new", "duplicate", "possible_update"]
    of: str | None
    similarity_bp: int


def compare(new_text: str, new_vector: Vector, existing: Sequence[ExistingNote], *, policy: Policy) -> Verdict:
    """The same wording is a duplicate; a near one only with equal numbers and negation and without a change
    word.

    Anything else that is about the same thing is a possible update, which a person decides with both texts.
    """
    for note in existing:
        if _folded(note.text) == _folded(new_text):
            return Verdict(kind="duplicate", of=note.id, similarity_bp=10_000)
    scored = [(cosine_bp(new_vector, note.vector) or 0, note) for note in existing]
    for similarity, note in sorted(scored, key=lambda item: -item[0]):
        if similarity >= policy.duplicate_bp and says_the_same(new_text, note.text):
            return Verdict(kind="duplicate", of=note.id, similarity_bp=similarity)
    similarity, nearest = max(scored, key=lambda item: item[0], default=(0, None))
    if nearest is not None and similarity >= policy.possible_update_bp:
        return Verdict(kind="possible_update", of=nearest.id, similarity_bp=similarity)
    return Verdict(kind="new", of=None, similarity_bp=max(similarity, 0))


def injected_sentences(injected: Sequence[str]) -> tuple[str, ...]:
    """Every sentence whose vector `restates` looks up beside that of the text itself."""
    return tuple(dict.fromkeys(source[a:b] for source in injected for a, b in sentence_spans(source)))


def restates(text: str, injected: Sequence[str], vectors: Mapping[str, Vector], *, policy: Policy) -> bool:
    """True when the sentence stands in, or nearly repeats, text that we put before an agent ourselves.

    `vectors` may lack texts; then only the wording is compared.
    """
    if any(_stands_in(_folded(text), _folded(source)) for source in injected):
        return True
    return any(
        (cosine_bp(vectors.get(text), vectors.get(sentence)) or 0) >= policy.duplicate_bp
        and says_the_same(text, sentence)
        for sentence in injected_sentences(injected)
    )


def says_the_same(left: str, right: str) -> bool:
    """No sign of a difference that a vector would miss: numbers, negation, words of change."""
    left_words, right_words = tokens(left), tokens(right)
    if _numbers(left, left_words) != _numbers(right, right_words):
        return False
    if _CHANGES.intersection(left_words) or _CHANGES.intersection(right_words):
        return False
    return bool(_NEGATIONS.intersection(left_words)) == bool(_NEGATIONS.intersection(right_words))


def _stands_in(sentence: str, source: str) -> bool:
    """Whole words of the source, and not the rest of a sentence that denies what comes before it."""
    start = source.find(sentence) if sentence else -1
    while start >= 0:
        before, after = source[:start], source[start + len(sentence) :]
        whole = not (before[-1:].isalnum() or (sentence[-1].isalnum() and after[:1].isalnum()))
        denied = _NEGATIONS.intersection(tokens(_SENTENCE_BREAK.split(before)[-1]))
        if whole and not denied:
            return True
        start = source.find(sentence, start + 1)
    return False


def _numbers(text: str, words: Sequence[str]) -> list[str]:
    digits = _NUMBER.findall(unicodedata.normalize("NFKC", text))
    return sorted([*digits, *(word for word in words if word in _NUMBER_WORDS)])


def _folded(text: str) -> str:
    return content_key(unicodedata.normalize("NFKC", text))
