"""Vectors: cached by model and text, encoded once, and never of two models together."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.providers import embedding
from apps.providers.embedding.hashing import HashingEmbedder
from apps.providers.embedding.weights import verify_weights, weights_folder
from apps.providers.models import VectorCache
from apps.providers.services.vectors import EncoderOff, encoder_digest, vectors_for

pytestmark = pytest.mark.django_db


class Counting(HashingEmbedder):
    """Counts the texts that it had to encode."""

    def __init__(self, digest: str = "model-a") -> None:
        self.digest = digest
        self.encoded: list[str] = []

    def embed(self, texts):
        self.encoded += texts
        return super().embed(texts)


@pytest.fixture
def encoder(monkeypatch):
    found = Counting()
    monkeypatch.setattr("apps.providers.services.vectors.embedder", lambda: found)
    return found


def test_a_text_is_encoded_once(encoder: Counting) -> None:
    first = vectors_for(["one", "two", "one"])
    second = vectors_for(["two", "one"])
    assert encoder.encoded == ["one", "two"]
    assert first == second


def test_two_models_never_mix(encoder: Counting, monkeypatch) -> None:
    vectors_for(["one"])
    other = Counting("model-b")
    monkeypatch.setattr("apps.providers.services.vectors.embedder", lambda: other)
    vectors_for(["one"])
    assert other.encoded == ["one"]
    assert set(VectorCache.objects.values_list("model_digest", flat=True)) == {"model-a", "model-b"}


def test_more_texts_than_a_statement_takes(encoder: Counting) -> None:
    texts = [f"text {number}" for number in range(1_500)]
    vectors_for(texts)
    assert len(vectors_for(texts)) == 1_500
    assert len(encoder.encoded) == 1_500


def test_off_is_a_named_refusal(settings) -> None:
    settings.TIKITAKA_EMBEDDER = "off"
    assert encoder_digest() == "off"
    with pytest.raises(EncoderOff):
        vectors_for(["one"])


def test_other_weights_are_refused(tmp_path) -> None:
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(ImproperlyConfigured, match="not the pinned ones"):
        verify_weights(tmp_path)


def test_the_packages_weights_are_the_pinned_ones() -> None:
    verify_weights(weights_folder())


def test_missing_weights_are_a_configuration_error(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match="not installed"):
        weights_folder()


@pytest.mark.encoder
def test_the_real_encoder_in_its_own_thread(settings) -> None:
    from threading import enumerate as threads

    settings.TIKITAKA_EMBEDDER = "sbert"
    embedding._embedder.cache_clear()
    found = vectors_for(["The server rejects large files.", "Big uploads are refused.", "Roses are red."])
    same, near, far = found.values()
    assert len(same) == 384
    assert sum(a * b for a, b in zip(same, near, strict=True)) > sum(a * b for a, b in zip(same, far, strict=True))
    assert "encoder" in {thread.name for thread in threads()}
