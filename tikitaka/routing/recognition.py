"""Who a note concerns: one verdict for every agent of the team."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.ports import Vector
from tikitaka.routing.calibration import Calibration
from tikitaka.routing.eligibility import Eligibility
from tikitaka.routing.profiles import AgentProfile, NoteText
from tikitaka.routing.reasons import WithholdReason


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateScore:
    """The verdict for one agent; score and threshold are None for agents that were no candidates."""

    key: str
    score_bp: int | None
    threshold_bp: int | None
    verdict: Literal["granted", "withheld"]
    match_kind: Literal["threshold", "fallback"] | None
    reason: WithholdReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """The verdicts in roster order; `fallback` is the key of the agent that was taken for want of a match."""

    verdicts: tuple[CandidateScore, ...]
    fallback: str | None
    calibration_version: str

    @property
    def granted(self) -> tuple[str, ...]:
        return tuple(item.key for item in self.verdicts if item.verdict == "granted")


def recognize(
    note: NoteText,
    agents: Sequence[AgentProfile],
    candidates: Collection[str],
    *,
    vectors: Mapping[str, Vector],
    calibration: Calibration,
    eligibility: Eligibility,
) -> Recognition:
    """One verdict per agent of the team (`agents` is all of it, in roster order; only `candidates` can be granted)."""
    raise NotImplementedError
