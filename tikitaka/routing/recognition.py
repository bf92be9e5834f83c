"""Who a note concerns: one verdict for every agent of the team."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.ports import Vector
from tikitaka.routing.calibration import Calibration
from tikitaka.routing.eligibility import Eligibility
from tikitaka.routing.features import FEATURES, measure
from tikitaka.routing.profiles import AgentProfile, NoteText, distinct_profiles
from tikitaka.routing.reasons import WithholdReason
from tikitaka.routing.vectors import basis_points, cosine_bp


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    score_bp: int
    above_floor: bool


def recognize(
    note: NoteText,
    agents: Sequence[AgentProfile],
    candidates: Collection[str],
    *,
    vectors: Mapping[str, Vector],
    calibration: Calibration,
    eligibility: Eligibility,
) -> Recognition:
    """One verdict per agent of the team (`agents` is all of it, in roster order; only `candidates` can be
    granted).

    An agent that cannot be scored is withheld and is no measure for the others. Where nobody matches, the
    best eligible candidate is taken as the one fallback, ties going to the first of the roster.
    """
    scores = _scores(note, agents, vectors, calibration)
    eligible = [
        agent.key
        for agent in agents
        if agent.key in candidates and agent.key in scores and agent.key not in eligibility.excluded
    ]
    matched = {key for key in eligible if scores[key].above_floor and scores[key].score_bp >= calibration.threshold_bp}
    fallback = max(eligible, key=lambda key: scores[key].score_bp) if eligible and not matched else None
    verdicts = tuple(
        _verdict(
            agent.key,
            scores.get(agent.key),
            candidate=agent.key in candidates,
            excluded=agent.key in eligibility.excluded,
            match_kind="threshold" if agent.key in matched else "fallback" if agent.key == fallback else None,
            threshold_bp=calibration.threshold_bp,
        )
        for agent in agents
    )
    return Recognition(verdicts=verdicts, fallback=fallback, calibration_version=calibration.version)


def _verdict(
    key: str,
    scored: _Scored | None,
    *,
    candidate: bool,
    excluded: bool,
    match_kind: Literal["threshold", "fallback"] | None,
    threshold_bp: int,
) -> CandidateScore:
    """The first reason that applies: no candidate, denied by the words, not scorable, too far away."""
    reason = None
    if not candidate:
        reason = WithholdReason.NOT_PARTICIPANT
    elif excluded:
        reason = WithholdReason.AUDIENCE_EXCLUDED
    elif scored is None:
        reason = WithholdReason.RECOGNIZER_ERROR
    elif match_kind is None:
        reason = WithholdReason.BELOW_THRESHOLD
    return CandidateScore(
        key=key,
        score_bp=scored.score_bp if scored and candidate else None,
        threshold_bp=threshold_bp if candidate else None,
        verdict="granted" if match_kind else "withheld",
        match_kind=match_kind,
        reason=reason,
    )


def _scores(
    note: NoteText, agents: Sequence[AgentProfile], vectors: Mapping[str, Vector], calibration: Calibration
) -> dict[str, _Scored]:
    if calibration.score == "cosine":
        return _cosine_scores(note, agents, vectors)
    measured = measure(distinct_profiles(agents), note, vectors)
    if measured is None or not measured.keys:
        return {}
    probabilities = calibration.model.probabilities(measured.rows, FEATURES)
    return {
        key: _Scored(
            score_bp=basis_points(float(probabilities[index])),
            above_floor=bool(
                basis_points(float(measured.blend[index])) >= calibration.floor_bp or measured.words[index] > 0
            ),
        )
        for index, key in enumerate(measured.keys)
    }


def _cosine_scores(note: NoteText, agents: Sequence[AgentProfile], vectors: Mapping[str, Vector]) -> dict[str, _Scored]:
    found: dict[str, _Scored] = {}
    for agent in agents:
        similarity = cosine_bp(vectors.get(note.whole), vectors.get(agent.whole))
        if similarity is not None:
            found[agent.key] = _Scored(score_bp=max(similarity, 0), above_floor=True)
    return found
