"""Vectors that have been computed once. Two models never meet: the key holds the digest of the weights."""

from __future__ import annotations

from django.db import models


class VectorCache(models.Model):
    """One unit vector as float32 bytes, by model digest and text digest."""

    id = models.BigAutoField(primary_key=True)
    model_digest = models.CharField(max_length=64)
    text_digest = models.CharField(max_length=64)
    vector = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model_digest", "text_digest"], name="providers_one_vector_per_text")
        ]

    def __str__(self) -> str:
        return self.text_digest
