"""What is known of the agents of a team, prepared so that they can be told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tikitaka.policy import RecognitionScore
from tikitaka.routing.words import content_stems, sentence_spans

_CLAUSE_BREAK = re.compile(r"[,;:、，；]|\s(?:and|und|et|y)\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """One active agent as its team describes it; `key` is any identifier that is unique in the team."""

    key: str
    name: str
    description: str
    instructions: str

    @property
    def whole(self) -> str:
        """Everything in one text, as the plain cosine reads it."""
        return f"{self.name}. {self.description} {self.instructions}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteText:
    """The two texts of a note that say whom it concerns."""

    content: str
    description: str

    @property
    def whole(self) -> str:
        return f"{self.content}\n{self.description}".strip()

    @property
    def occasion(self) -> str:
        """When the note applies; the content stands in for a missing description."""
        return self.description.strip() or self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctProfile:
    """One agent without the sentences that teammates share: text, `name: clause` texts, word stems."""

    key: str
    text: str
    clauses: tuple[str, ...]
    stems: tuple[str, ...]


def distinct_profiles(agents: Sequence[AgentProfile]) -> tuple[DistinctProfile, ...]:
    """The team with every sentence dropped that two or more of its agents carry (house text tells nobody
    apart).
    """
    return _distinct_profiles(tuple(agents))


@lru_cache(maxsize=16)
def _distinct_profiles(agents: tuple[AgentProfile, ...]) -> tuple[DistinctProfile, ...]:
    """Every note of a flush is measured against the same team."""
    sentences = [_sentences(f"{agent.description}\n{agent.instructions}") for agent in agents]
    carriers = Counter(folded for own in sentences for folded in {_folded(item) for item in own})
    return tuple(
        _distinct(agent, [item for item in own if carriers[_folded(item)] < 2])
        for agent, own in zip(agents, sentences, strict=True)
    )


def texts_to_embed(
    agents: Sequence[AgentProfile], note: NoteText, *, score: RecognitionScore = "logistic"
) -> tuple[str, ...]:
    """Every text whose vector `recognize` looks up, without repetition, for one batch."""
    if score == "cosine":
        return tuple(dict.fromkeys([note.whole, *(agent.whole for agent in agents)]))
    texts = [note.whole, note.occasion]
    for profile in distinct_profiles(agents):
        texts += [profile.text, *profile.clauses]
    return tuple(dict.fromkeys(texts))


def _distinct(agent: AgentProfile, own: Sequence[str]) -> DistinctProfile:
    clauses = [part.strip(" .!?") for item in own for part in _CLAUSE_BREAK.split(item)]
    text = " ".join([f"{agent.name}.", *own])
    return DistinctProfile(
        key=agent.key,
        text=text,
        clauses=tuple(dict.fromkeys(f"{agent.name}: {part}" for part in clauses if part)) or (agent.name,),
        stems=tuple(content_stems(text)),
    )


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def _folded(sentence: str) -> str:
    return " ".join(sentence.casefold().split())
