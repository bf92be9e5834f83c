"""Sentence encoders: sbert (the MiniLM weights of the package), fake (hashing, for tests), off."""

from __future__ import annotations

from functools import cache

from django.conf import settings

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
    return _embedder(settings.TIKITAKA_EMBEDDER)
