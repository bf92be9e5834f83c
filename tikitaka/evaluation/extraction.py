"""Evaluation and fitting of the sentence extractor: which messages hold a durable statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tikitaka.evaluation.cases import ExtractionCases, extraction_cases
from tikitaka.evaluation.fitting import fit_logistic, rounded
from tikitaka.evaluation.metrics import precision_recall_f1, share
from tikitaka.evaluation.supplements import LabeledSentence, sentences
from tikitaka.notes.cues import CUES, cue_values
from tikitaka.notes.sentences import (
    SentenceModel,
    load_sentence_model,
    pick,
    sentence_model_of,
    texts_to_embed,
)
from tikitaka.policy import DEFAULT
from tikitaka.ports import Vector
from tikitaka.routing.vectors import Array, unit_of

COEFFICIENTS_PATH = "tikitaka/notes/coefficients.json"

Row = dict[str, Any]

_VECTOR_PENALTY = 0.3
_CUE_PENALTY = 1.0
_FOLDS = 5
_GRID_BP = range(4_000, 9_001, 200)
# Which share of each kind of non-durable text may be taken; the threshold is the lowest that keeps both.
_PROMPTS_TAKEN_MAX = 0.05
_CHATTER_TAKEN_MAX = 0.05

parse = extraction_cases


def texts(cases: ExtractionCases) -> list[str]:
    """Every sentence that `decide` needs a vector of."""
    return list(dict.fromkeys(text for item in cases.transcripts for text in texts_to_embed(item.messages)))


def fitting_texts(cases: ExtractionCases) -> list[str]:
    """The sentences of the cases and those that the package carries."""
    return list(dict.fromkeys([*texts(cases), *(item.text for item in sentences())]))


def decide(cases: ExtractionCases, vectors: Mapping[str, Vector], model: SentenceModel | None = None) -> list[Row]:
    """One row a transcript: `picked`, the 0-based positions of messages from which a sentence was taken."""
    in_force = model or load_sentence_model()
    return [
        {
            "id": item.id,
            "picked": sorted({found.message for found in pick(item.messages, vectors, in_force, policy=DEFAULT)}),
        }
        for item in cases.transcripts
    ]


def metrics(cases: ExtractionCases, rows: Sequence[Row]) -> dict[str, float]:
    """Precision and recall over messages, and the share of the other messages that were taken."""
    by_id = {row["id"]: frozenset(row["picked"]) for row in rows}
    pairs = [(item, by_id[item.id]) for item in cases.transcripts]
    others = sum(len(item.messages) - len(item.durable) for item, _ in pairs)
    return {
        **precision_recall_f1(
            sum(len(found & item.durable) for item, found in pairs),
            sum(len(found) for _, found in pairs),
            sum(len(item.durable) for item, _ in pairs),
        ),
        "chatter_taken": share(sum(len(found - item.durable) for item, found in pairs), others),
    }


def fit(cases: ExtractionCases, vectors: Mapping[str, Vector], *, model_digest: str) -> dict[str, Any]:
    """The classifier document, from the messages of the cases and the sentences that the package carries.

    The threshold comes from five folds over the package's sentences. `transferred` is measured on the cases
    with a model that saw none of their messages.
    """
    messages = _messages(cases)
    known = {item.text for item in messages}
    own = tuple(item for item in sentences() if item.text not in known)
    scores = _cross_scored(own, vectors)
    threshold = _threshold(own, scores)
    document = _document((*own, *messages), cases.digest, vectors, model_digest, threshold)
    transfer = sentence_model_of(_document(own, cases.digest, vectors, model_digest, threshold))
    document["metrics"] = {
        "transferred": metrics(cases, decide(cases, vectors, transfer)),
        "in_sample": metrics(cases, decide(cases, vectors, sentence_model_of(document))),
        "cross_validated_taken": _taken(own, scores, threshold),
    }
    return document


def _messages(cases: ExtractionCases) -> tuple[LabeledSentence, ...]:
    return tuple(
        LabeledSentence(
            text=text,
            durable=index in item.durable,
            kind="statement" if index in item.durable else "chatter",
        )
        for item in cases.transcripts
        for index, message in enumerate(item.messages)
        for text in texts_to_embed([message])
    )


def _document(
    items: Sequence[LabeledSentence],
    digest: str,
    vectors: Mapping[str, Vector],
    model_digest: str,
    threshold_bp: int,
) -> dict[str, Any]:
    rows, labels = _matrix(items, vectors)
    dimensions = rows.shape[1] - len(CUES)
    penalty = np.repeat([_VECTOR_PENALTY, _CUE_PENALTY], [dimensions, len(CUES)])
    found = fit_logistic(rows, labels, penalty=penalty, unscaled=dimensions)
    values = [rounded(float(value)) for value in found.weights]
    return {
        "version": "sentences-1",
        "model_digest": model_digest,
        "fitted_on": digest,
        "features": list(CUES),
        "weights": dict(zip(CUES, values[dimensions:], strict=True)),
        "bias": rounded(found.bias),
        "threshold_bp": threshold_bp,
        "vector_weights": values[:dimensions],
    }


def _matrix(items: Sequence[LabeledSentence], vectors: Mapping[str, Vector]) -> tuple[Array, Array]:
    rows = [
        np.concatenate([vector, cue_values(item.text)])
        for item in items
        if (vector := unit_of(item.text, vectors)) is not None
    ]
    labels = [float(item.durable) for item in items if unit_of(item.text, vectors) is not None]
    return np.stack(rows), np.array(labels)


def _cross_scored(items: Sequence[LabeledSentence], vectors: Mapping[str, Vector]) -> list[int]:
    """The score in basis points of each sentence by a model that was fitted without its fold."""
    scores = [0] * len(items)
    for fold in range(_FOLDS):
        rest = [item for index, item in enumerate(items) if index % _FOLDS != fold]
        model = sentence_model_of(_document(rest, "", vectors, "", 0))
        for index in range(fold, len(items), _FOLDS):
            vector = unit_of(items[index].text, vectors)
            scores[index] = 0 if vector is None else round(model.probability(items[index].text, vector) * 10_000)
    return scores


def _threshold(items: Sequence[LabeledSentence], scores: Sequence[int]) -> int:
    for threshold in _GRID_BP:
        taken = _taken(items, scores, threshold)
        if taken["prompt"] <= _PROMPTS_TAKEN_MAX and taken["chatter"] <= _CHATTER_TAKEN_MAX:
            return threshold
    return _GRID_BP[-1]


def _taken(items: Sequence[LabeledSentence], scores: Sequence[int], threshold: int) -> dict[str, float]:
    """The share of each kind of sentence at or above the threshold."""
    return {
        kind: share(
            sum(score >= threshold for item, score in zip(items, scores, strict=True) if item.kind == kind),
            sum(item.kind == kind for item in items),
        )
        for kind in ("statement", "note", "prompt", "chatter")
    }
