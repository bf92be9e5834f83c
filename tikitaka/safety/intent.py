"""What a clause asks of the agent that reads it, and whether that is an attack."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tikitaka.safety.hosts import contains_outside, contains_suspicious
from tikitaka.safety.languages import FOREIGN, FOREIGN_LEADS, VERB_FINAL
from tikitaka.safety.vocabulary import ENGLISH, LEADS, REPORTS
from tikitaka.safety.wordlists import phrases

_ADDRESS = re.compile(r"https?://[^\s\"'<>)\]]{1,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_SENTENCE_END = re.compile(r"[.!?。！？](?=[\s\"'”)\]>]|$)|[\n\r]|<!--|-->|[。！？]|[<>{}\[\]|]{1,3}")
_WORD = re.compile(r"\.env\b|[^\W_]{1,200}(?:['’_-][^\W_]{1,200}){0,60}|[,:;]")
_UNSPACED = re.compile("[\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Clause:
    """The folded words of one sentence, and which roles begin at which of them."""

    words: tuple[str, ...]
    roles: dict[str, list[int]]
    abroad: dict[str, list[int]]
    outside: bool
    suspicious: bool

    def has(self, *names: str) -> bool:
        return all(name in self.roles for name in names)


_ELISION = re.compile("(?i)^(?:l|d|dell|all|nell|sull|dall|un|qu|n|s|j|c)['’](?=[^\\W\\d_]{3})")


def fold(word: str) -> str:
    """Lower case without accents, so that spelling habits do not matter."""
    word = _ELISION.sub("", word)
    if word.isascii():
        return word.lower().replace("'", "").replace("’", "")
    decomposed = unicodedata.normalize("NFD", word.lower())
    kept = "".join(c for c in decomposed if not ("\u0300" <= c <= "\u036f"))
    return unicodedata.normalize("NFC", kept).replace("'", "").replace("’", "")


@dataclass(frozen=True, slots=True)
class _Lexicon:
    phrases: dict[str, tuple[str, ...]]
    stems: dict[str, tuple[str, ...]]
    inside: tuple[tuple[str, str], ...]
    longest: int


def _build(source: dict[str, str]) -> _Lexicon:
    known: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    inside: list[tuple[str, str]] = []
    for role, listed in source.items():
        for raw in phrases(listed):
            if _UNSPACED.search(raw):
                inside.append((unicodedata.normalize("NFKC", raw.rstrip("*")), role))
                continue
            phrase = " ".join(fold(part) for part in re.findall(r"\.env|[^\W_]+(?:['’_-][^\W_]+)*\*?", raw))
            if phrase.endswith("*"):
                stems.setdefault(phrase[:-1], set()).add(role)
            elif phrase:
                known.setdefault(phrase, set()).add(role)
    longest = max(phrase.count(" ") + 1 for phrase in known)
    return _Lexicon(
        {k: tuple(sorted(v)) for k, v in known.items()},
        {k: tuple(sorted(v)) for k, v in stems.items()},
        tuple(inside),
        longest,
    )


@lru_cache(maxsize=1)
def english() -> _Lexicon:
    return _build(ENGLISH)


@lru_cache(maxsize=1)
def foreign() -> _Lexicon:
    return _build(FOREIGN)


_SECRET_ENDINGS = frozenset({"token", "key", "secret", "password", "passwd", "pwd", "credentials", "pat"})


@lru_cache(maxsize=8192)
def _stem_roles(word: str) -> tuple[str, ...]:
    stems = foreign().stems
    found: set[str] = set()
    for length in range(3, min(len(word), 24) + 1):
        found.update(stems.get(word[:length], ()))
    return tuple(sorted(found))


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end."""
    at = 0
    for match in _SENTENCE_END.finditer(text):
        if match.start() - at > 2 and not _in_address(text, match.start()):
            yield at, match.start()
            at = match.end()
        elif match.start() - at <= 2:
            at = match.end()
    if len(text) - at > 2:
        yield at, len(text)


def _in_address(text: str, at: int) -> bool:
    return text[at] == "?" and at + 1 < len(text) and not text[at + 1].isspace()


def read_clause(raw: str) -> Clause:
    """The roles of one sentence."""
    words = tuple(
        fold(match.group()) for match in _WORD.finditer(_ADDRESS.sub(" , ", raw) if "@" in raw or "://" in raw else raw)
    )
    roles: dict[str, list[int]] = {}
    strange: dict[str, list[int]] = {}
    _find_phrases(words, roles, strange)
    if _UNSPACED.search(raw):
        folded = unicodedata.normalize("NFKC", raw)
        for phrase, role in foreign().inside:
            place = folded.find(phrase)
            if place >= 0:
                strange.setdefault(role, []).append(-1 - place)
    return Clause(words, roles, strange, contains_outside(raw), contains_suspicious(raw))


def _find_phrases(words: tuple[str, ...], roles: dict[str, list[int]], strange: dict[str, list[int]]) -> None:
    home, abroad = english(), foreign()
    longest = max(home.longest, abroad.longest)
    for at in range(len(words)):
        phrase = ""
        for length in range(1, min(longest, len(words) - at) + 1):
            phrase = f"{phrase} {words[at + length - 1]}" if phrase else words[at]
            for role in home.phrases.get(phrase, ()):
                roles.setdefault(role, []).append(at)
            for role in abroad.phrases.get(phrase, ()):
                if role not in home.phrases.get(phrase, ()):
                    strange.setdefault(role, []).append(at)
            if length == 1 and phrase[0] in "وفו" and len(phrase) > 3:
                for role in (*abroad.phrases.get(phrase[1:], ()), *_stem_roles(phrase[1:])):
                    strange.setdefault(role, []).append(at)
            if length == 1 and "_" in phrase and phrase.rsplit("_", 1)[-1] in _SECRET_ENDINGS:
                roles.setdefault("secret", []).append(at)
            if length < 3:
                for role in _stem_roles(phrase):
                    if role not in home.phrases.get(phrase, ()):
                        strange.setdefault(role, []).append(at)


def orders(clause: Clause, role: str) -> list[int]:
    """Where the role's words stand as an order: at the start of a part of the clause or after a leading word."""
    found = []
    for at in clause.roles.get(role, ()):
        before = clause.words[at - 1] if at else ","
        if before in {",", ":", ";"} or before in LEADS or before.endswith("ly"):
            if before in {
                "to",
                "will",
                "would",
                "can",
                "may",
                "could",
                "not",
                "do",
                "dont",
            } and _told_by_others(clause.words, at):
                continue
            found.append(at)
    return found


def orders_abroad(clause: Clause, role: str) -> list[int]:
    """The same in other languages."""
    return [at for at in clause.abroad.get(role, ()) if _leads_abroad(clause.words, at)]


@lru_cache(maxsize=1)
def _abroad_leads() -> frozenset[str]:
    return frozenset(fold(word) for word in FOREIGN_LEADS) | LEADS


@lru_cache(maxsize=1)
def _verbs_at_the_end() -> frozenset[str]:
    return frozenset(fold(word) for word in VERB_FINAL)


def _leads_abroad(words: tuple[str, ...], at: int) -> bool:
    """In many languages the order and the report share a form; the order opens its part of the clause.

    Scripts without word boundaries are found at negative places, counted in characters; there, any place will do.
    """
    if at <= 0:
        return True
    word, before = words[at], words[at - 1]
    return before in {",", ":", ";"} or before in _abroad_leads() or word in _verbs_at_the_end()


def _told_by_others(words: tuple[str, ...], at: int) -> bool:
    return any(word in REPORTS for word in words[max(0, at - 3) : at - 1])
