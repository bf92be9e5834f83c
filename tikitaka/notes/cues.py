"""Cue words of a sentence: what makes it sound like a lasting rule, and what like talk of the moment.

Punctuation and capitals are no cues: they tell a careful writer from a hasty one, not a rule from chatter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

from tikitaka.routing.words import STOPWORDS, tokens

_LISTS = """
obligation: must never always only should shall cannot forbidden required mandatory need needs may
negation: not never no without nobody nothing don't forbidden
condition: if when unless before after until above below older larger under over each every
condition: per at least most
cause: because since so therefore otherwise instead
person: i i'm i'll i've me my we us our you your he she his her
moment: now today tomorrow yesterday tonight currently still already yet soon later again back almost
moment: minute minutes moment last
courtesy: thanks thank please sorry hello hi good great nice ok okay yes sure fine happy welcome
progress: done finished started starting running waiting trying checking looking reading pushing pushed
progress: merged merging uploaded uploading fixed failed fails completed installing rebooting loaded opened
progress: sent found
habit: is are stays stay keeps keep uses use gets get goes go runs run has have carries contains count counts
past: was were had took gave went came did said
"""


def _listed() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in _LISTS.strip().splitlines():
        name, _, words = line.partition(":")
        found[name] = found.get(name, frozenset()) | frozenset(words.split())
    return MappingProxyType(found)


_SETS = _listed()
_ASKING_WORDS = """
can could did do does who what where when which how why is are should shall would will anyone someone
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_ORDER = re.compile(
    r"\W*(?:add|ask|book|build|calculate|check|collect|compare|convert|create|deploy|design|draft|draw|estimate|"
    r"explain|find|fix|generate|improve|investigate|list|look|make|measure|move|organi[sz]e|plan|predict|prepare|"
    r"refactor|remove|rename|review|rebuild|run|set\s+up|shorten|show|sort|summari[sz]e|test|translate|try|update|"
    r"write)\b",
    re.IGNORECASE,
)
_WORDS_MAX = 30
_SHORT = 3

CUES = (*_SETS, "asks", "orders", "length", "short", "number", "ongoing", "participle", "plural")

_PROHIBITS = re.compile(
    r"\b(?:never|must\s+not|may\s+not|do\s+not|don['’]t|cannot|not\s+allowed|forbidden|prohibited|nobody|no\s+one|"
    r"nie|niemals|nicht|verboten|jamais|interdit|nunca|jamás|prohibido|mai|vietato)\b",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"\b(?:secrets?|passwords?|passphrases?|tokens?|credentials?|private|confidential|restricted|personal|"
    r"api\s+keys?|(?:signing|private|root|encryption|live)\s+keys?|certificates?|pepper|env(?:ironment)?\s+values?|"
    r"disclos\w+|expos\w+|leak\w*|nda|salar(?:y|ies)|patients?|medical|investigation|breach|customer\s+data|"
    r"passw[oö]rt\w*|geheim\w*|vertraulich\w*|mots?\s+de\s+passe|confidentiel\w*|contraseñas?|secretos?)\b",
    re.IGNORECASE,
)


def cue_values(sentence: str) -> tuple[float, ...]:
    """One number for each of CUES."""
    words = tokens(sentence)
    present = set(words)
    return (
        *(float(not present.isdisjoint(listed)) for listed in _SETS.values()),
        float(bool(words) and words[0] in _ASKING),
        float(bool(_ORDER.match(sentence))),
        math.log1p(min(len(words), _WORDS_MAX)),
        float(len(words) <= _SHORT),
        float(any(character.isdigit() for character in sentence)),
        float(any(word.endswith("ing") for word in words)),
        float(any(word.endswith("ed") for word in words)),
        float(any(_is_plural(word) for word in words[:2])),
    )


def _is_plural(word: str) -> bool:
    """By its ending; a rule often begins with a kind of thing (`tokens expire`), chatter with one thing."""
    return word.endswith("s") and not word.endswith("ss") and word not in STOPWORDS


def is_severe(sentence: str) -> bool:
    """A prohibition together with a sensitive word; either alone is an ordinary rule."""
    return bool(_PROHIBITS.search(sentence)) and bool(_SENSITIVE.search(sentence))
