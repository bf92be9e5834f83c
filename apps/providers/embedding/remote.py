"""Asking the `embed` worker: the texts go into a row, a message hurries it, the vectors come back through the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from uuid import UUID

from django.conf import settings

from apps.providers.models import EmbedRequest
from apps.providers.services.cache import cached_vectors
from tikitaka.errors import TikiTakaError
from tikitaka.ports import Vector
from tikitaka.text import digest

_FIRST_LOOK_S = 0.005
_LONGEST_PAUSE_S = 0.2

_hurry: Callable[[UUID], None] | None = None


class EncoderAway(TikiTakaError):
    """No worker encoded the texts in time; nothing is guessed without them, and the work is tried again."""

    code = "encoder_away"


def bind_hurry(hurry: Callable[[UUID], None]) -> None:
    """Who tells the `embed` worker that a request waits."""
    global _hurry
    _hurry = hurry


class RemoteEmbedder:
    """Encodes in another process; the caller holds no transaction, or the request would never be seen."""

    def __init__(self, kind: str) -> None:
        self.digest = _digest_of(kind)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Waits for the vectors; raises EncoderAway when they do not come within TIKITAKA_EMBED_WAIT_S seconds."""
        if not texts:
            return []
        request = EmbedRequest.objects.create(model_digest=self.digest, texts=list(texts))
        if _hurry is not None:
            _hurry(request.pk)
        deadline = time.monotonic() + settings.TIKITAKA_EMBED_WAIT_S
        pause = _FIRST_LOOK_S
        while not EmbedRequest.objects.filter(pk=request.pk, done_at__isnull=False).exists():
            if time.monotonic() > deadline:
                raise EncoderAway
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        keys = [digest(text) for text in texts]
        found = cached_vectors(self.digest, keys)
        if len(found) < len(set(keys)):
            raise EncoderAway
        return [found[key] for key in keys]


def _digest_of(kind: str) -> str:
    if kind == "fake":
        from apps.providers.embedding.hashing import HashingEmbedder

        return HashingEmbedder.digest
    from apps.providers.embedding.weights import WEIGHTS_DIGEST

    return WEIGHTS_DIGEST
