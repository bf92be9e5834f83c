"""The coefficients in force, read from the versioned files inside the packages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from tikitaka.policy import Policy, RecognitionScore
from tikitaka.routing.vectors import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticModel:
    """A logistic regression on named numbers, in their own units."""

    weights: Mapping[str, float]
    bias: float

    def probabilities(self, rows: Array, names: Sequence[str]) -> Array:
        """One probability per row; `names` says what the columns are."""
        weights = np.array([self.weights[name] for name in names])
        result: Array = 1 / (1 + np.exp(-np.clip(rows @ weights + self.bias, -40, 40)))
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How agents are scored and cut.

    An agent matches at or above `threshold_bp`, if its absolute similarity reaches `floor_bp` or any word of
    the note stands in its profile. `coefficients` holds the weight of each feature and `bias`; it is empty
    for `cosine`.
    """

    version: str
    score: RecognitionScore
    coefficients: Mapping[str, float]
    threshold_bp: int
    floor_bp: int
    model_digest: str

    @property
    def model(self) -> LogisticModel:
        weights = {name: value for name, value in self.coefficients.items() if name != "bias"}
        return LogisticModel(weights=weights, bias=self.coefficients["bias"])


@cache
def read_coefficients(package: str) -> Mapping[str, Any]:
    """The document `coefficients.json` inside the package, read once."""
    text = (files(package) / "coefficients.json").read_text(encoding="utf-8")
    return MappingProxyType(cast("dict[str, Any]", json.loads(text)))


def calibration_of(document: Mapping[str, Any]) -> Calibration:
    """The calibration that a fitted document describes."""
    return Calibration(
        version=document["version"],
        score="logistic",
        coefficients=MappingProxyType({**document["weights"], "bias": document["bias"]}),
        threshold_bp=document["threshold_bp"],
        floor_bp=document["floor_bp"],
        model_digest=document["model_digest"],
    )


def load_calibration() -> Calibration:
    """The calibration that the package carries."""
    return calibration_of(read_coefficients("tikitaka.routing"))


def calibration_in_force(policy: Policy) -> Calibration:
    """The fitted calibration, unless the policy selects the plain cosine."""
    if policy.recognition_score == "cosine":
        return cosine_calibration(policy.cosine_threshold_bp)
    return load_calibration()


def cosine_calibration(threshold_bp: int) -> Calibration:
    """The plain cosine of note and whole profile with a fixed threshold; it does not separate agents."""
    return Calibration(
        version=f"cosine-{threshold_bp}",
        score="cosine",
        coefficients=MappingProxyType({}),
        threshold_bp=threshold_bp,
        floor_bp=0,
        model_digest="",
    )
