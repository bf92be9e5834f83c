"""Sentence vectors as unit arrays; what cannot be one is absent, so that the caller withholds instead of
guessing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tikitaka.ports import Vector

Array = NDArray[np.float64]


def unit(vector: Sequence[float] | None) -> Array | None:
    """The vector at length one; None when it is missing, empty, zero or not finite."""
    if not vector:
        return None
    return _unit(tuple(vector))


@lru_cache(maxsize=256)
def _unit(vector: Vector) -> Array | None:
    """The profiles of a team are measured against every note; an array that is shared may not be written to."""
    array = np.asarray(vector, dtype=np.float64)
    if not np.isfinite(array).all():
        return None
    largest = float(np.abs(array).max())
    if largest == 0.0:
        return None
    scaled = array / largest
    result: Array = scaled / float(np.linalg.norm(scaled))
    result.flags.writeable = False
    return result


def unit_of(text: str, vectors: Mapping[str, Vector]) -> Array | None:
    """The unit vector of a text that the caller had embedded."""
    return unit(vectors.get(text))


def cosine_bp(left: Sequence[float] | None, right: Sequence[float] | None) -> int | None:
    """Cosine in basis points, -10 000 to 10 000; None when either vector is unusable or sizes differ."""
    a, b = unit(left), unit(right)
    if a is None or b is None or a.shape != b.shape:
        return None
    return basis_points(float(a @ b))


def basis_points(value: float) -> int:
    """A share or cosine as an integer number of ten-thousandths, halves to even."""
    return round(value * 10_000)
