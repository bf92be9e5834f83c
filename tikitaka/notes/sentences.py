"""Extraction without a language model: durable sentences, copied verbatim from the transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tikitaka.ports import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptMessage:
    """One message; `injected` marks context that we put there ourselves and that never becomes a note."""

    speaker: str
    text: str
    injected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A verbatim sentence: `message` is its 0-based position, start..end its characters there."""

    message: int
    start: int
    end: int
    text: str
    score_bp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftNote:
    """A picked sentence as a note that still needs recognition, screening and review."""

    picked: Picked
    content: str
    description: str
    skill_key: str
    severity: Literal["normal", "severe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceModel:
    """The trained classifier: weights for the vector and for each named cue, threshold in basis points."""

    version: str
    model_digest: str
    vector_weights: Vector
    cue_weights: Mapping[str, float]
    bias: float
    threshold_bp: int


def load_sentence_model() -> SentenceModel:
    raise NotImplementedError


def texts_to_embed(messages: Sequence[TranscriptMessage]) -> tuple[str, ...]:
    """Every sentence whose vector `pick` looks up, without repetition."""
    raise NotImplementedError


def pick(
    messages: Sequence[TranscriptMessage], vectors: Mapping[str, Vector], model: SentenceModel
) -> tuple[Picked, ...]:
    """The sentences at or above the threshold, in transcript order."""
    raise NotImplementedError


def draft(
    picked: Sequence[Picked], messages: Sequence[TranscriptMessage], prompts: Sequence[str]
) -> tuple[DraftNote, ...]:
    """Notes of the picked sentences: key from their rarest stems, description from the neighboring task prompt."""
    raise NotImplementedError
