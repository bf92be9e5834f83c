"""Fitting a logistic regression, and choosing a threshold: deterministic, numpy only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tikitaka.errors import TikiTakaError
from tikitaka.routing.vectors import Array

_STEPS_MAX = 100
_SMALL_STEP = 1e-8
_SIGNIFICANT = 6


class NotFittedError(TikiTakaError):
    """The cases do not hold both outcomes, or the fit did not settle."""

    code = "not_fitted"


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights in the units of the columns, and the bias."""

    weights: Array
    bias: float


def fit_logistic(rows: Array, labels: Array, *, penalty: Array | float, unscaled: int = 0) -> Fit:
    """L2-penalized logistic regression by Newton steps.

    Columns are standardized first, except the leading `unscaled` ones (coordinates of unit vectors, whose
    scale means something); `penalty` applies to the standardized weights, one for all or one a column, never
    to the bias.
    """
    if not 0 < labels.sum() < len(labels):
        raise NotFittedError
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    center[:unscaled], scale[:unscaled] = 0.0, 1.0
    scale[scale < 1e-12] = 1.0
    design = np.column_stack([(rows - center) / scale, np.ones(len(rows))])
    ridge = np.append(np.broadcast_to(np.asarray(penalty, dtype=np.float64), rows.shape[1]), 1e-6)
    solution = np.zeros(design.shape[1])
    for _ in range(_STEPS_MAX):
        probability = 1 / (1 + np.exp(-np.clip(design @ solution, -40, 40)))
        curvature = probability * (1 - probability) + 1e-9
        gradient = design.T @ (labels - probability) - ridge * solution
        step = np.linalg.solve((design.T * curvature) @ design + np.diag(ridge), gradient)
        solution += step
        if float(np.abs(step).max()) < _SMALL_STEP:
            weights: Array = solution[:-1] / scale
            return Fit(weights=weights, bias=float(solution[-1] - weights @ center))
    raise NotFittedError


def smoothed_best(grid: Sequence[int], score: Callable[[int], float]) -> int:
    """The grid value whose score, averaged with two neighbors on each side, is best; first of equals."""
    values = np.array([score(value) for value in grid])
    padded = np.pad(values, 2, mode="edge")
    smooth = np.convolve(padded, np.full(5, 0.2), mode="valid")
    return grid[int(np.argmax(np.round(smooth, 9)))]


def rounded(value: float) -> float:
    """Six significant digits: what the files carry, and what therefore counts."""
    return float(f"{value:.{_SIGNIFICANT}g}")
