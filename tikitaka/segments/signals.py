"""The three signals for a change of topic between the prompts of an open segment and the next one.

How old the segment is (how many prompts, how long) never enters a signal: lengths of topics differ too much
between teams, and a rule on age would only count prompts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tikitaka.policy import Policy, SegmentSignal
from tikitaka.ports import Vector
from tikitaka.routing.calibration import LogisticModel, read_coefficients
from tikitaka.routing.vectors import Array, basis_points, unit, unit_of
from tikitaka.routing.words import content_words, tokens

FEATURES = ("mean_drift", "nearest_drift", "recent_drift", "length", "opening")

_PROMPTS_MIN = 2
_RECENT = 3
_GUARD_WORDS_MAX = 2
_LENGTH_WORDS_MAX = 20
_CONTINUES = re.compile(
    r"\W*(?:(?:ok|okay|yes|yep|thanks|thank you|please|and|now|next|go on|go ahead|carry on|proceed|continue|"
    r"do the same|the same|weiter|mach weiter|genauso|continue[rz]?|sigue|adelante)\b\W*)+"
    r"(?:(?:for|with|on)\b.{0,60})?",
    re.IGNORECASE | re.DOTALL,
)
_OPENS = re.compile(
    r"\W*(?:please\s+)?(?:add|answer|archive|build|calibrate|check|choose|compare|count|create|design|develop|draft|"
    r"implement|investigate|launch|let|move|negotiate|organi[sz]e|pick|plan|predict|prepare|rebuild|redesign|renew|"
    r"review|set\s+up|summari[sz]e|train|translate|write)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalReading:
    """What one signal said: value and threshold in basis points, and whether that closes the segment."""

    name: SegmentSignal
    value_bp: int
    threshold_bp: int
    closes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicModel:
    """The logistic behind the signal `fitted`, with its threshold."""

    model: LogisticModel
    threshold_bp: int


def topic_model_of(document: Mapping[str, Any]) -> TopicModel:
    """The model that a fitted document describes."""
    model = LogisticModel(weights=document["weights"], bias=document["bias"])
    return TopicModel(model=model, threshold_bp=document["threshold_bp"])


def load_topic_model() -> TopicModel:
    """The model that the package carries."""
    return topic_model_of(read_coefficients("tikitaka.segments"))


def read(prompts: Sequence[str], new_prompt: str, *, vectors: Mapping[str, Vector], policy: Policy) -> SignalReading:
    """The reading of the signal that the policy names; `vectors` holds every prompt (`jsd` needs none)."""
    if policy.segment_signal == "jsd":
        return jsd(prompts, new_prompt, threshold_bp=policy.segment_jsd_bp, terms_min=policy.segment_jsd_terms_min)
    if policy.segment_signal == "drift":
        return drift(prompts, new_prompt, vectors=vectors, threshold_bp=policy.segment_drift_bp)
    return fitted(prompts, new_prompt, vectors=vectors, topic=load_topic_model())


def fitted(
    prompts: Sequence[str], new_prompt: str, *, vectors: Mapping[str, Vector], topic: TopicModel
) -> SignalReading:
    """The small logistic on drift and form; too few prompts, a guarded prompt or unusable vectors never
    close.
    """
    row = topic_row(prompts, new_prompt, vectors)
    value = 0 if row is None else basis_points(float(topic.model.probabilities(row[None, :], FEATURES)[0]))
    closes = may_close(prompts, new_prompt) and value >= topic.threshold_bp
    return SignalReading(name="fitted", value_bp=value, threshold_bp=topic.threshold_bp, closes=closes)


def drift(
    prompts: Sequence[str], new_prompt: str, *, vectors: Mapping[str, Vector], threshold_bp: int
) -> SignalReading:
    """Cosine distance of the new prompt to the mean of the last three."""
    row = topic_row(prompts, new_prompt, vectors)
    value = 0 if row is None else basis_points(float(row[FEATURES.index("recent_drift")]))
    closes = may_close(prompts, new_prompt) and value >= threshold_bp
    return SignalReading(name="drift", value_bp=value, threshold_bp=threshold_bp, closes=closes)


def jsd(prompts: Sequence[str], new_prompt: str, *, threshold_bp: int, terms_min: int) -> SignalReading:
    """Jensen-Shannon divergence (base 2) of the word distributions; 0 while both together have few distinct
    terms.

    Kept because it is what was once asked for: between short prompts words hardly repeat, so it closes nearly
    always.
    """
    old, new = (
        Counter(word for text in prompts for word in content_words(text)),
        Counter(content_words(new_prompt)),
    )
    value = basis_points(_jensen_shannon(old, new)) if len(old | new) >= terms_min and old and new else 0
    return SignalReading(name="jsd", value_bp=value, threshold_bp=threshold_bp, closes=value > threshold_bp)


def may_close(prompts: Sequence[str], new_prompt: str) -> bool:
    """False while the segment has one prompt, and for a prompt without a topic (`ok, continue`)."""
    if len(prompts) < _PROMPTS_MIN:
        return False
    return len(content_words(new_prompt)) > _GUARD_WORDS_MAX and not _CONTINUES.fullmatch(new_prompt)


def topic_row(prompts: Sequence[str], new_prompt: str, vectors: Mapping[str, Vector]) -> Array | None:
    """The FEATURES of one step; None when there is no earlier prompt or a vector is missing or unusable."""
    new, earlier = unit_of(new_prompt, vectors), [unit_of(text, vectors) for text in prompts]
    known = [vector for vector in earlier if vector is not None]
    if new is None or not known or len(known) < len(earlier) or any(v.shape != new.shape for v in known):
        return None
    matrix = np.stack(known)
    return np.array(
        [
            _distance_to_mean(matrix, new),
            1.0 - float((matrix @ new).max()),
            _distance_to_mean(matrix[-_RECENT:], new),
            float(np.log1p(min(len(tokens(new_prompt)), _LENGTH_WORDS_MAX))),
            float(bool(_OPENS.match(new_prompt))),
        ]
    )


def _distance_to_mean(matrix: Array, new: Array) -> float:
    mean = unit(matrix.mean(axis=0).tolist())
    return 1.0 if mean is None else 1.0 - float(mean @ new)


def _jensen_shannon(left: Counter[str], right: Counter[str]) -> float:
    terms = list(left | right)
    p = np.array([left[term] for term in terms]) / left.total()
    q = np.array([right[term] for term in terms]) / right.total()
    middle = (p + q) / 2
    parts = [_relative_entropy(side, middle) for side in (p, q)]
    return min(max(sum(parts) / 2, 0.0), 1.0)


def _relative_entropy(p: Array, q: Array) -> float:
    present = p > 0
    return float((p[present] * np.log2(p[present] / q[present])).sum())
