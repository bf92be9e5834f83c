"""The coefficients in force, read from the versioned files inside the packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How scores are made and cut: `coefficients` by feature name (and `bias`), threshold and floor in basis points."""

    version: str
    score: Literal["logistic", "cosine"]
    coefficients: Mapping[str, float]
    threshold_bp: int
    floor_bp: int
    model_digest: str


def load_calibration() -> Calibration:
    """The calibration that the package carries."""
    raise NotImplementedError


def cosine_calibration(threshold_bp: int) -> Calibration:
    """The selectable plain cosine with a fixed threshold, for comparison."""
    raise NotImplementedError
