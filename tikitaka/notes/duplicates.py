"""Whether a new note says again, or may change, what an existing note says. Nothing is ever merged here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.policy import Policy
from tikitaka.ports import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNote:
    id: str
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`of` is the existing note that is repeated or perhaps updated; similarity in basis points, 0 without notes."""

    kind: Literal["new", "duplicate", "possible_update"]
    of: str | None
    similarity_bp: int


def compare(
    new_text: str, new_vector: Vector, existing: Sequence[ExistingNote], *, policy: Policy
) -> Verdict:
    """Reference: exact after folding, or cosine >= .90 with equal numbers, negation and no change word -> duplicate."""
    raise NotImplementedError


def restates(text: str, injected: Sequence[str], vectors: Mapping[str, Vector], *, policy: Policy) -> bool:
    """True when the sentence is contained in, or a near duplicate of, text that we injected ourselves."""
    raise NotImplementedError
