"""Sentence encoders: sbert (the MiniLM weights of the package), fake (hashing, for tests), off.

Where a broker is configured, only the `embed` worker encodes; everybody else asks it and waits.
"""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tikitaka.ports import Embedder


@cache
def _embedder(kind: str) -> Embedder | None:
    if kind == "off":
        return None
    if kind == "fake":
        from apps.providers.embedding.hashing import HashingEmbedder

        return HashingEmbedder()
    from apps.providers.embedding.encoder import EncoderThread

    return EncoderThread()


def embedder() -> Embedder | None:
    """The configured encoder; None when it is off, and then nothing is recognized and everything is withheld."""
    if settings.TIKITAKA_EMBED_HERE or settings.TIKITAKA_EMBEDDER == "off":
        return own_embedder()
    from apps.providers.embedding.remote import RemoteEmbedder

    return RemoteEmbedder(settings.TIKITAKA_EMBEDDER)


def own_embedder() -> Embedder | None:
    """The encoder of this very process, for whoever answers requests."""
    return _embedder(settings.TIKITAKA_EMBEDDER)


def preload_encoder() -> None:
    """Loads the model before a worker forks, so that its children share one copy; refuses missing or other weights."""
    encoder = own_embedder()
    if encoder is None:
        raise ImproperlyConfigured("TIKITAKA_EMBEDDER is off")
    if not settings.TIKITAKA_EMBED_HERE:
        raise ImproperlyConfigured("TIKITAKA_EMBED_HERE must be true where the queue embed is served")
    load = getattr(encoder, "load", None)
    if load is not None:
        load()
