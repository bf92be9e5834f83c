"""Vectors of texts through the cache. Never call this inside a transaction: a text that is not cached is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apps.providers.embedding import embedder
from apps.providers.services.cache import cached_vectors, keep_vectors
from tikitaka.errors import TikiTakaError
from tikitaka.ports import Vector
from tikitaka.text import digest


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
        cached |= keep_vectors(encoder.digest, dict(zip(missing, fresh, strict=True)))
    return {text: cached[key] for key, text in wanted.items()}
