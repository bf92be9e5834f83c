"""Answering requests for vectors, and clearing them away."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from apps.ledger import clock
from apps.providers.embedding import own_embedder
from apps.providers.models import EmbedRequest
from apps.providers.services.cache import cached_vectors, keep_vectors
from tikitaka.text import digest

_KEPT = timedelta(hours=1)
_OVERDUE = timedelta(seconds=10)


def encode_request(request: UUID) -> None:
    """Encodes what the cache lacks of a request; doing it twice, or by two workers at once, ends in the same rows."""
    row = EmbedRequest.objects.filter(pk=request, done_at__isnull=True).first()
    encoder = own_embedder()
    if row is None or encoder is None or encoder.digest != row.model_digest:
        return
    wanted = {digest(text): text for text in row.texts}
    known = cached_vectors(encoder.digest, list(wanted))
    missing = {key: text for key, text in wanted.items() if key not in known}
    fresh = encoder.embed(list(missing.values()))
    keep_vectors(encoder.digest, dict(zip(missing, fresh, strict=True)))
    EmbedRequest.objects.filter(pk=request).update(done_at=clock.now(), texts=[])


def waiting_requests() -> list[UUID]:
    """Requests whose message was lost, or that no worker has come to."""
    rows = EmbedRequest.objects.filter(done_at__isnull=True, created_at__lt=clock.now() - _OVERDUE)
    return list(rows.order_by("created_at").values_list("pk", flat=True)[:100])


def clear_requests() -> int:
    """Deletes requests that nobody waits for any more, texts and all; how many."""
    deleted, _ = EmbedRequest.objects.filter(created_at__lt=clock.now() - _KEPT).delete()
    return deleted
