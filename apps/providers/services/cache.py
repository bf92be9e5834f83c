"""Vectors that were computed once, by the digest of the weights and of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from apps.ledger.sql import execute_many
from apps.ledger.writing import writing
from apps.providers.models import VectorCache
from tikitaka.ports import Vector

_CHUNK = 400
_KEEP = (
    "INSERT INTO providers_vectorcache (model_digest, text_digest, vector) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
)


def keep_vectors(model: str, vectors: Mapping[str, Vector]) -> dict[str, Vector]:
    """Caches vectors by text digest and returns them as the cache gives them back."""
    rows = {key: _pack(vector) for key, vector in vectors.items()}
    with writing():
        execute_many(_KEEP, [(model, key, packed) for key, packed in rows.items()])
    return {key: _unpack(packed) for key, packed in rows.items()}


def cached_vectors(model: str, keys: Sequence[str]) -> dict[str, Vector]:
    """What the cache holds for one model, by text digest."""
    found: dict[str, Vector] = {}
    for start in range(0, len(keys), _CHUNK):
        rows = VectorCache.objects.filter(model_digest=model, text_digest__in=keys[start : start + _CHUNK])
        found |= {key: _unpack(vector) for key, vector in rows.values_list("text_digest", "vector")}
    return found


def _pack(vector: Vector) -> bytes:
    return np.asarray(vector, dtype="<f4").tobytes()


def _unpack(data: bytes | memoryview) -> Vector:
    return tuple(np.frombuffer(bytes(data), dtype="<f4").tolist())
