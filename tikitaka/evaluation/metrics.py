"""Measures that the kinds of evaluation share; every one is a share from 0 to 1."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tikitaka.routing.vectors import Array


def share(part: float, whole: float) -> float:
    """`part` of `whole`, 0 where there is nothing."""
    return round(part / whole, 4) if whole else 0.0


def precision_recall_f1(hits: int, taken: int, wanted: int) -> dict[str, float]:
    """`hits` of what was `taken` and of what was `wanted`."""
    return {
        "precision": share(hits, taken),
        "recall": share(hits, wanted),
        "f1": share(2 * hits, taken + wanted),
    }


def area_under_curve(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The chance that a true pair scores above a false one, ties counting half."""
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=bool)
    positives, negatives = int(truth.sum()), int((~truth).sum())
    if not positives or not negatives:
        return 0.0
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle_ranks: Array = np.cumsum(counts) - (counts - 1) / 2
    above = float(middle_ranks[inverse][truth].sum()) - positives * (positives + 1) / 2
    return share(above, positives * negatives)


def near_hits(found: Collection[int], wanted: Collection[int], *, tolerance: int) -> int:
    """How many found positions can be matched one to one, in order, to wanted ones within the tolerance."""
    left = sorted(wanted)
    hits = 0
    for position in sorted(found):
        while left and left[0] < position - tolerance:
            left.pop(0)
        if left and left[0] <= position + tolerance:
            left.pop(0)
            hits += 1
    return hits


def window_errors(length: int, found: Collection[int], wanted: Collection[int]) -> tuple[int, int, int]:
    """Pk and WindowDiff of one sequence as counts: windows that disagree (Pk, WindowDiff), and windows in
    all.

    The window is half the mean true segment, at least 2 (Beeferman et al.; Pevzner and Hearst).
    """
    window = max(2, round(length / (len(wanted) + 1) / 2))
    ours, truth = _counts(length, found), _counts(length, wanted)
    parted = differing = 0
    windows = range(max(length - window, 0))
    for start in windows:
        a, b = ours[start + window] - ours[start], truth[start + window] - truth[start]
        parted += (a > 0) != (b > 0)
        differing += a != b
    return parted, differing, len(windows)


def _counts(length: int, shifts: Collection[int]) -> list[int]:
    """For each position, how many shifts lie at or before it."""
    total, counts = 0, []
    for position in range(length):
        total += position in shifts
        counts.append(total)
    return counts
