"""Vectors of texts through the cache. Never call this inside a transaction: a text that is not cached is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from apps.providers.embedding import embedder
from apps.providers.models import VectorCache
from tikitaka.errors import TikiTakaError
from tikitaka.ports import Vector
from tikitaka.text import digest

_CHUNK = 400


class EncoderOff(TikiTakaError):
    """No encoder is configured, so nothing can be recognized."""

    code = "encoder_off"


def encoder_digest() -> str:
    """The digest of the weights in use, "off" without any."""
    found = embedder()
    return found.digest if found else "off"


def vectors_for(texts: Iterable[str]) -> Mapping[str, Vector]:
    """One vector per distinct text; what the cache lacks is encoded in one batch and cached."""
    encoder = embedder()
    if encoder is None:
        raise EncoderOff
    wanted = {digest(text): text for text in texts}
    cached = cached_vectors(encoder.digest, list(wanted))
    missing = [key for key in wanted if key not in cached]
    if missing:
        fresh = encoder.embed([wanted[key] for key in missing])
        rows = [
            VectorCache(model_digest=encoder.digest, text_digest=key, vector=_pack(vector))
            for key, vector in zip(missing, fresh, strict=True)
        ]
        VectorCache.objects.bulk_create(rows, ignore_conflicts=True)
        cached |= {key: _unpack(row.vector) for key, row in zip(missing, rows, strict=True)}
    return {text: cached[key] for key, text in wanted.items()}


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
