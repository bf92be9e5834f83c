"""What is known of the agents of a team, prepared so that they can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """One active agent as its team describes it; `key` is any identifier that is unique in the team."""

    key: str
    name: str
    description: str
    instructions: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteText:
    """The two texts of a note that say whom it concerns."""

    content: str
    description: str


def texts_to_embed(agents: Sequence[AgentProfile], note: NoteText) -> tuple[str, ...]:
    """Every text whose vector `recognize` looks up, without repetition, so that one batch fetches them all."""
    raise NotImplementedError
