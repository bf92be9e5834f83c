"""Where a note goes inside one agent's workspace: an own skill that is about the same, or a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.ports import Vector
from tikitaka.routing.reasons import WithholdReason
from tikitaka.routing.vectors import cosine_bp


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillProfile:
    """One skill of the agent at hand; `ours` when we created its folder, `examples` are notes in it."""

    key: str
    name: str
    description: str
    examples: tuple[str, ...]
    ours: bool

    @property
    def texts(self) -> tuple[str, ...]:
        """What the skill is compared by: its own words, and each note that it already holds."""
        return (f"{self.name}: {self.description}", *self.examples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """`existing` joins the skill `skill_key`, `new` creates it, `collision` withholds the note for this
    agent.

    `score_bp` is the similarity to the best own skill, None when there is none to compare with; `ours` says
    who wrote the joined skill, None unless existing.
    """

    kind: Literal["existing", "new", "collision"]
    skill_key: str
    score_bp: int | None
    ours: bool | None
    reason: WithholdReason | None


def texts_to_embed(note_text: str, own_skills: Sequence[SkillProfile]) -> tuple[str, ...]:
    """Every text whose vector `place` looks up, without repetition."""
    return tuple(dict.fromkeys([note_text, *(text for skill in own_skills for text in skill.texts)]))


def place(
    *,
    note_text: str,
    proposed_key: str,
    own_skills: Sequence[SkillProfile],
    vectors: Mapping[str, Vector],
    threshold_bp: int,
) -> Placement:
    """The best own skill at or above the threshold; else a new one under the proposed key, unless that is
    taken.

    Other agents' skills are never looked at, so equal keys of two agents stay two files. A skill without a
    usable vector cannot be joined, but still occupies its key.
    """
    scored = [(score, skill) for skill in own_skills if (score := _similarity(note_text, skill, vectors)) is not None]
    best_score, best = max(scored, key=lambda item: item[0], default=(None, None))
    if best is not None and best_score is not None and best_score >= threshold_bp:
        return Placement(kind="existing", skill_key=best.key, score_bp=best_score, ours=best.ours, reason=None)
    if any(skill.key == proposed_key for skill in own_skills):
        reason = WithholdReason.SKILL_KEY_COLLISION
        return Placement(kind="collision", skill_key=proposed_key, score_bp=best_score, ours=None, reason=reason)
    return Placement(kind="new", skill_key=proposed_key, score_bp=best_score, ours=None, reason=None)


def _similarity(note_text: str, skill: SkillProfile, vectors: Mapping[str, Vector]) -> int | None:
    note = vectors.get(note_text)
    found = [value for text in skill.texts if (value := cosine_bp(note, vectors.get(text))) is not None]
    return max(0, *found) if found else None
