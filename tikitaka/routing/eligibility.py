"""Explicit audience words: who a note says may, or may not, learn it.

Only constructions about knowing count. A rule that merely restricts a thing (`the frontend only needs the
public API contract`, `do not expose backend values`) is no audience. Where a construction is found and a name
in it is an agent's, that agent is denied, whatever its score; `only X` denies everybody else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tikitaka.routing.profiles import AgentProfile
from tikitaka.routing.words import STOPWORDS, stem, tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Characters start..end (exclusive) of the text that was read, and the words themselves."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """The agents whom the text denies, each with the phrase that does it.

    `has_audience_words` is also true for phrases that name no agent of the team (`do not tell anyone`).
    """

    excluded: Mapping[str, Span]
    has_audience_words: bool


_WHO = r"(?P<who>[^.;:!?。\n]{1,80})"
_WHO_SHORT = r"(?P<who>[^.;:!?,。\n]{1,60}?)"
_THING = r"(?:[\w'’-]+\s+){0,4}?"
_NEVER = r"(?:do\s+not|don['’]t|never|(?:must|may|should|can)\s*not|mustn['’]t|not\s+to|without|nobody\s+may)"
_TELL = (
    r"(?:tell(?:ing)?|inform(?:ing)?|brief(?:ing)?|notify(?:ing)?|alert(?:ing)?|"
    rf"(?:shar|disclos|reveal|show|giv|send|forward|pass|leak|mention|hand)(?:e|ing)?\s+{_THING}(?:to|with)|"
    rf"(?:discuss|talk|speak)(?:ing)?\s+{_THING}(?:with|to))"
)
_TOLD = (
    r"(?:shared|shown|given|disclosed|revealed|sent|forwarded|passed(?:\s+on)?|"
    r"mentioned|told|visible|discussed)"
)
_KEPT = r"(?:confidential|restricted|private|known|visible|shown|disclosed|limited|reserved|secret|internal)"
_LEARN = r"(?:know|knows|learn|learns|be\s+told|be\s+informed|hear\s+about|find\s+out|wissen|erfahren)"
_LOOK = r"(?:see|sees|read|reads|view|views|receive|receives|get|gets|have|has|access|sehen|lesen)"
_MATTER = (
    r"(?=\s*(?:$|[.;:!?,。\n]|this\b|it\b|that\b|these\b|those\b|them\b|"
    r"(?:the|any|its|such)\s+(?:note|details?|information|matter|message|memo|report|document|names?|case)\b))"
)
_MAY = r"(?:(?:may|can|should|must|will|needs?\s+to|(?:is|are)\s+allowed\s+to|darf|dürfen|soll|sollen)\s+)?"
_NOT_MAY = r"(?:(?:must|may|should|can|will)\s*(?:not|never)|mustn['’]t|is\s+not\s+to|are\s+not\s+to|darf|dürfen)"
_DARF = r"(?:darf|dürfen|soll|sollen)"
_FEW = r"(?:\w+\s+){0,3}?"
_WISSEN = r"(?:wissen|erfahren|sehen|lesen)"
_GROUP = r"(?:team|staff|group|department|people|desk|side|alone|only)"

_DENY = (
    rf"\b{_NEVER}\s+(?:ever\s+)?{_TELL}\s+{_WHO}",
    rf"\b{_NEVER}\s+let\s+{_WHO_SHORT}\s+(?:know|see|read|hear|learn)\b",
    rf"\bnot\s+(?:for|meant\s+for|intended\s+for|visible\s+to|known\s+to)\s+{_WHO}",
    rf"\b(?:keep|hide|withhold|conceal)\s+{_THING}from\s+{_WHO}",
    rf"\b(?:hidden|withheld|secret|off\s+limits|kept)\s+(?:away\s+)?(?:from|to)\s+{_WHO}",
    rf"\b{_NEVER}\s+(?:reach|be\s+{_TOLD}\s+(?:to|with))\s+{_WHO}",
    rf"\b(?:everyone|everybody|anyone|anybody|all)\s+(?:except|but)\s+{_WHO}",
    rf"(?:^|[.;:!?,。\n])\s*{_WHO_SHORT}\s+{_NOT_MAY}\s+(?:{_LEARN}|{_LOOK}{_MATTER})",
    rf"\bnicht\s+(?:für|an)\s+{_WHO}",
    rf"(?:^|[.;:!?,。\n])\s*{_WHO_SHORT}\s+{_DARF}\s+{_FEW}nichts?\s+{_FEW}{_WISSEN}\b",
    rf"\bne\s+pas\s+(?:dire|montrer|communiquer|transmettre)\s+(?:[\w]+\s+)?(?:à|au|aux)\s+{_WHO}",
    rf"\bno\s+(?:decir|contar|mostrar|compartir|revelar)\s+(?:[\w]+\s+)?(?:a|al|con)\s+{_WHO}",
)
_ONLY = (
    rf"\bonly\s+{_WHO_SHORT}\s+{_MAY}(?:{_LEARN}\b|{_LOOK}\b{_MATTER})",
    rf"\b{_KEPT}\s+only\s+(?:to|for|by|within|with|inside)\s+{_WHO}",
    rf"\b(?:confidential|restricted|private|need[\s-]to[\s-]know)\s+(?:to|for|within|between|inside)\s+{_WHO}",
    rf"\b{_KEPT}\s+(?:to|for|by|within|with)\s+{_WHO_SHORT}\s+only\b",
    rf"\bfor\s+{_WHO_SHORT}(?:['’]s?)?\s+(?:eyes\s+)?only\b",
    rf"\b(?:share|shared|tell|show|send|goes|go|sent)\s+{_THING}only\s+(?:to|with)?\s*{_WHO}",
    rf"\b(?:stays?|remains?|kept|keep\s+{_THING})\s*(?:with|within|inside)\s+{_WHO_SHORT}\s+{_GROUP}\b",
    rf"\b(?:nobody|no[\s-]one|no\s+details|nothing|anyone|anybody|not\s+{_TOLD})\s+outside(?:\s+of)?\s+{_WHO}",
    rf"\b(?:nobody|no[\s-]one|not?\s+to\s+anyone)\s+(?:else\s+)?(?:but|except)\s+{_WHO}",
    rf"\b{_NEVER}\s+leave\s+{_WHO}",
    rf"\bnur\s+für\s+{_WHO}",
    rf"\bnur\s+{_WHO_SHORT}\s+{_DARF}\s+{_FEW}{_WISSEN}\b",
    rf"\b(?:uniquement|seulement)\s+pour\s+{_WHO}",
    rf"\b(?:réservée?s?|confidentiel(?:le)?s?)\s+(?:à|au|aux)\s+{_WHO}",
    rf"\b(?:solo|sólo|únicamente)\s+para\s+{_WHO}",
)
_NAMELESS = (
    rf"\b{_NEVER}\s+(?:ever\s+)?{_TELL}\s+(?:any(?:one|body)|others?|the\s+team|the\s+public|outsiders)\b",
    r"\b(?:keep|kept)\s+(?:this|it|that)\s+(?:\w+\s+)?(?:quiet|secret|confidential|private|to\s+yourself)\b",
    r"\bnever\s+disclose\b|\b(?:need[\s-]to[\s-]know|eyes\s+only|strictly\s+confidential)\b",
    r"\b(?:only|solely)\s+to\s+(?:the|a)\s+\w+|\bto\s+anyone\s+outside\b|\bno\s+details\s+outside\b",
)
_DENY_RULES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _DENY)
_ONLY_RULES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _ONLY)
_NAMELESS_RULES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _NAMELESS)

# What follows these words is the matter or the time, not a further name.
_END_OF_NAMES_LIST = """
about until because before after when unless that which who whom since if during as but while bis weil
"""
_END_OF_NAMES = frozenset(_END_OF_NAMES_LIST.split())
_JOINERS = frozenset(["and", "or", "nor", "und", "oder", "et", "ou", "y", "o", "with"])
_GENERIC = frozenset(["agent", "team", "bot", "assistant", "ai", "it"])


def audience_exclusions(text: str, agents: Sequence[AgentProfile]) -> Eligibility:
    """Who is excluded by phrases such as `only X may know` (all others) or `do not tell Y` (Y)."""
    names = _words_of_names(agents)
    excluded: dict[str, Span] = {}
    folded, places = _single_blanks(text)
    for rule in _DENY_RULES:
        for match in rule.finditer(folded):
            _exclude(_named_agents(match.group("who"), names), _span(text, places, match), excluded)
    for rule in _ONLY_RULES:
        for match in rule.finditer(folded):
            if allowed := _named_agents(match.group("who"), names):
                _exclude(frozenset(names) - allowed, _span(text, places, match), excluded)
    flagged = bool(excluded) or any(rule.search(folded) for rule in _NAMELESS_RULES)
    return Eligibility(excluded=MappingProxyType(excluded), has_audience_words=flagged)


def _single_blanks(text: str) -> tuple[str, list[int]]:
    """The text with every run of white space as its first character, and where each character stood.

    Long runs would make the patterns, which part words by white space, quadratic and worse.
    """
    places = [
        place
        for place, character in enumerate(text)
        if not character.isspace() or place == 0 or not text[place - 1].isspace()
    ]
    return "".join(text[place] for place in places), places


def _span(text: str, places: Sequence[int], match: re.Match[str]) -> Span:
    start, end = places[match.start()], places[match.end() - 1] + 1
    return Span(start=start, end=end, text=text[start:end])


def _exclude(denied: Collection[str], span: Span, excluded: dict[str, Span]) -> None:
    """Each agent keeps the first phrase that denies it."""
    for key in denied:
        excluded.setdefault(key, span)


def _words_of_names(agents: Sequence[AgentProfile]) -> dict[str, frozenset[str]]:
    """By agent, the stems of the words of its name by which it can be called."""
    return {
        agent.key: frozenset(
            stem(word) for word in tokens(agent.name) if word not in STOPWORDS and word not in _GENERIC
        )
        for agent in agents
    }


def _named_agents(phrase: str, names: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The agents that a phrase names; neighboring words narrow each other, joined ones add up."""
    found: frozenset[str] = frozenset()
    run: frozenset[str] = frozenset()
    for part in re.split(r"([,/&])", phrase):
        for word in tokens(part) or [","]:
            if word in _END_OF_NAMES:
                return found | run
            called = frozenset(key for key, stems in names.items() if stem(word) in stems)
            if word in _JOINERS or word == ",":
                found, run = found | run, frozenset()
            elif called:
                narrowed = run & called
                found, run = (found, narrowed) if narrowed else (found | run, called)
    return found | run
