"""A deterministic stand-in for the encoder: every word adds to one of 128 places. For tests; it understands nothing."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

from tikitaka.ports import Vector

_WORD = re.compile(r"\w+")
_PLACES = 128


class HashingEmbedder:
    """Equal words give near vectors, other words far ones."""

    digest = "fake-hashing-128"

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [_vector(text) for text in texts]


def _vector(text: str) -> Vector:
    places = [0.0] * _PLACES
    for word in _WORD.findall(text.lower()):
        places[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % _PLACES] += 1.0
    length = math.sqrt(sum(value * value for value in places)) or 1.0
    return tuple(value / length for value in places)
