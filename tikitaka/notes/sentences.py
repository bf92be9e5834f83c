"""Extraction without a language model: durable sentences, copied verbatim from the transcript.

A logistic on the sentence's vector and its cue words chooses; it never writes. Everything it yields needs
review.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tikitaka.landing.keys import fold_skill_key
from tikitaka.notes.contract import Severity, content_key
from tikitaka.notes.cues import CUES, cue_values, is_severe
from tikitaka.policy import Policy
from tikitaka.ports import Vector
from tikitaka.routing.calibration import read_coefficients
from tikitaka.routing.vectors import Array, basis_points, unit_of
from tikitaka.routing.words import STOPWORDS, content_words, sentence_spans, stem, tokens
from tikitaka.segments.extractor_input import TranscriptLine
from tikitaka.text import cut, one_line

_KEY_WORDS = 3
_FALLBACK_OCCASION = "similar work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A verbatim sentence: `message` is its 0-based position, start..end its characters there."""

    message: int
    start: int
    end: int
    text: str
    score_bp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceNote:
    """A picked sentence as a note that still needs recognition, screening and review."""

    picked: Picked
    content: str
    description: str
    skill_key: str
    severity: Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceModel:
    """The trained classifier: weights for the unit vector and for each of CUES, threshold in basis points."""

    version: str
    model_digest: str
    vector_weights: Vector
    cue_weights: Vector
    bias: float
    threshold_bp: int

    def probability(self, sentence: str, vector: Array) -> float:
        total = float(vector @ np.asarray(self.vector_weights)) + self.bias
        total += sum(weight * value for weight, value in zip(self.cue_weights, cue_values(sentence), strict=True))
        return 1 / (1 + math.exp(-min(max(total, -40.0), 40.0)))


def sentence_model_of(document: Mapping[str, Any]) -> SentenceModel:
    """The model that a fitted document describes."""
    return SentenceModel(
        version=document["version"],
        model_digest=document["model_digest"],
        vector_weights=tuple(document["vector_weights"]),
        cue_weights=tuple(document["weights"][cue] for cue in CUES),
        bias=document["bias"],
        threshold_bp=document["threshold_bp"],
    )


def load_sentence_model() -> SentenceModel:
    """The classifier that the package carries."""
    return sentence_model_of(read_coefficients("tikitaka.notes"))


def texts_to_embed(messages: Sequence[TranscriptLine]) -> tuple[str, ...]:
    """Every sentence whose vector `pick` looks up, without repetition."""
    return tuple(dict.fromkeys(text for _, _, _, text in _sentences(messages)))


def pick(
    messages: Sequence[TranscriptLine], vectors: Mapping[str, Vector], model: SentenceModel, *, policy: Policy
) -> tuple[Picked, ...]:
    """The sentences at or above the threshold in transcript order, each wording once.

    Injected messages are passed over, as is a sentence without a usable vector or longer than a note may be.
    """
    found: list[Picked] = []
    seen: set[str] = set()
    for message, start, end, text in _sentences(messages):
        vector = unit_of(text, vectors)
        if vector is None or len(vector) != len(model.vector_weights) or len(text) > policy.note_content_chars:
            continue
        score = basis_points(model.probability(text, vector))
        if score < model.threshold_bp or content_key(text) in seen:
            continue
        seen.add(content_key(text))
        found.append(Picked(message=message, start=start, end=end, text=text, score_bp=score))
    return tuple(found)


def draft(
    picked: Sequence[Picked], messages: Sequence[TranscriptLine], prompts: Sequence[str], *, policy: Policy
) -> tuple[SentenceNote, ...]:
    """The best picked sentences as notes, at most as many as a flush may hold, in transcript order.

    `prompts` has, for each message, the prompt of the task that it belongs to (empty when unknown).
    """
    kept = set(
        sorted(picked, key=lambda item: (-item.score_bp, item.message, item.start))[: policy.notes_per_flush_max]
    )
    frequency = Counter(
        item for _, _, _, text in _sentences(messages) for item in {stem(word) for word in content_words(text)}
    )
    return tuple(
        SentenceNote(
            picked=item,
            content=item.text,
            description=_description(prompts[item.message], policy),
            skill_key=_skill_key(item.text, frequency),
            severity=Severity.SEVERE if is_severe(item.text) else Severity.NORMAL,
        )
        for item in picked
        if item in kept
    )


def _sentences(messages: Sequence[TranscriptLine]) -> list[tuple[int, int, int, str]]:
    return [
        (index, start, end, message.text[start:end])
        for index, message in enumerate(messages)
        if not message.injected
        for start, end in sentence_spans(message.text)
    ]


def _description(prompt: str, policy: Policy) -> str:
    occasion = one_line(prompt).rstrip(".!?。 ") or _FALLBACK_OCCASION
    return cut(f"When working on {occasion}", policy.note_description_chars)


def _skill_key(sentence: str, frequency: Counter[str]) -> str:
    """The two or three stems that the fewest sentences share, in the order and spelling of this one."""
    words: dict[str, str] = {}
    for word in tokens(sentence):
        if word not in STOPWORDS and not word.isdigit():
            words.setdefault(stem(word), word)
    rarest = sorted(words, key=lambda item: (frequency[item], -len(words[item])))[:_KEY_WORDS]
    chosen = " ".join(word for item, word in words.items() if item in rarest)
    key = fold_skill_key(chosen, content=sentence)
    assert key is not None, "words hold no path characters"
    return key
