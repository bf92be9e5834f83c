"""Words as the lexical scores see them: folded, without function words, cut to a light stem."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_STOPWORDS = """
a about above after again all also am an and any are as at be because been before being below between both
but by can could did do does doing don down during each either else ever every few for from further get gets
got had has have having he her here hers him his how i if in into is it its itself just least less let lets
like made make makes many may me might more most much must my neither never no nor not now of off on once
one only onto or other our ours out over own per please same shall she should since so some still such than
that the their theirs them then there these they this those through to too two under until up upon us use
used uses using very via was we were what when where whether which while who whom whose why will with within
without would yet you your yours
"""
STOPWORDS = frozenset(_STOPWORDS.split())

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Longest first; what remains must keep three characters (four before a single letter).
_SUFFIX_LIST = """
isations izations isation ization ations ation ators ator ments ment ances ance ences ence ities ity ings
ing ions ion ives ive ers ors ies ied est er or ed es al ic ly s e y
"""
_SUFFIXES = tuple(_SUFFIX_LIST.split())


def tokens(text: str) -> list[str]:
    """The folded words in order; a run of ideographs, which has no blanks, gives its pairs of characters."""
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = match.group().replace("’", "'").removesuffix("'s")
        if _WIDE.search(word) and len(word) > 1:
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word)
    return found


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """An English stem by suffix alone, twice over: `translators`, `translation` and `translates` meet."""
    for _ in range(2):
        for suffix in _SUFFIXES:
            rest = len(word) - len(suffix)
            if word.endswith(suffix) and rest >= (4 if len(suffix) == 1 and suffix != "s" else 3):
                word = word[:rest]
                break
    return word


def content_words(text: str) -> list[str]:
    """The words that are not function words."""
    return [word for word in tokens(text) if word not in STOPWORDS]


def content_stems(text: str) -> list[str]:
    """The stems of the content words, in order, with repetitions."""
    return [stem(word) for word in content_words(text)]


_SENTENCE_END = re.compile(r"(?<![.!?…؟۔।])[.!?…؟۔।]++[\"'”’)\]]*+(?=\s)|[。！？]+[」』”’）]*|[\r\n]+")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|no|dr|mr|mrs|z\.\s?b|d\.\s?h|bzw|[a-z])\.$", re.I)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end (exclusive) of each sentence, trimmed; the end of a line ends a sentence too."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if _ABBREVIATION.search(text, max(start, match.end() - 8), match.end()):
            continue
        _add_trimmed(text, start, match.end(), spans)
        start = match.end()
    _add_trimmed(text, start, len(text), spans)
    return spans


def _add_trimmed(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))
