"""Explicit audience words: who a note says may, or may not, learn it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tikitaka.routing.profiles import AgentProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Characters start..end (exclusive) of the text that was read, and the words themselves."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """The agents whom the text denies, each with the phrase that does; `has_audience_words` also without a name."""

    excluded: Mapping[str, Span]
    has_audience_words: bool


def audience_exclusions(text: str, agents: Sequence[AgentProfile]) -> Eligibility:
    """Who is excluded by phrases such as `only X may know` (all others) or `do not tell Y` (Y)."""
    raise NotImplementedError
