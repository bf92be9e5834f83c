"""Where a note goes inside one agent's workspace: an own skill that is about the same, or a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.ports import Vector
from tikitaka.routing.reasons import WithholdReason


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillProfile:
    """One skill of the agent at hand; `ours` when we created its folder, `examples` are texts of notes in it."""

    key: str
    name: str
    description: str
    examples: tuple[str, ...]
    ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """`existing` joins the skill `skill_key`, `new` creates it, `collision` withholds the note for this agent.

    `score_bp` is the similarity to the best own skill, None when the agent has none; `ours` says who wrote the joined
    skill, None unless existing.
    """

    kind: Literal["existing", "new", "collision"]
    skill_key: str
    score_bp: int | None
    ours: bool | None
    reason: WithholdReason | None


def texts_to_embed(note_text: str, own_skills: Sequence[SkillProfile]) -> tuple[str, ...]:
    """Every text whose vector `place` looks up, without repetition."""
    raise NotImplementedError


def place(
    *,
    note_text: str,
    proposed_key: str,
    own_skills: Sequence[SkillProfile],
    vectors: Mapping[str, Vector],
    threshold_bp: int,
) -> Placement:
    """The best own skill at or above the threshold; else a new one under the proposed key, unless that is taken."""
    raise NotImplementedError
