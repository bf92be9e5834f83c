"""Evaluation and fitting of topic shifts: prompts come one by one, the segment starts anew at each close."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tikitaka.evaluation.cases import PromptSequence, SegmentCases, segment_cases
from tikitaka.evaluation.fitting import fit_logistic, rounded, smoothed_best
from tikitaka.evaluation.metrics import near_hits, precision_recall_f1, share, window_errors
from tikitaka.evaluation.supplements import sequences
from tikitaka.policy import DEFAULT, Policy
from tikitaka.ports import Vector
from tikitaka.routing.vectors import Array
from tikitaka.segments.signals import (
    FEATURES,
    TopicModel,
    fitted,
    may_close,
    read,
    topic_model_of,
    topic_row,
)

COEFFICIENTS_PATH = "tikitaka/segments/coefficients.json"

Row = dict[str, Any]
Closes = Callable[[Sequence[str], str], bool]

_PENALTY = 2.0
_GRID_BP = range(1_600, 8_001, 200)

parse = segment_cases


def texts(cases: SegmentCases) -> list[str]:
    """Every prompt that `decide` needs a vector of."""
    return list(dict.fromkeys(prompt for item in cases.sequences for prompt in item.prompts))


def fitting_texts(cases: SegmentCases) -> list[str]:
    """The prompts of the cases and of the sequences that the package carries."""
    return list(dict.fromkeys([*texts(cases), *texts(sequences())]))


def decide(cases: SegmentCases, vectors: Mapping[str, Vector], policy: Policy = DEFAULT) -> list[Row]:
    """One row a sequence: `shifts`, the 0-based positions at which the signal in force opens a new segment.

    Caps and idle time play no part: they say nothing of topics.
    """
    return _rows(cases, lambda segment, prompt: read(segment, prompt, vectors=vectors, policy=policy).closes)


def metrics(cases: SegmentCases, rows: Sequence[Row]) -> dict[str, float]:
    """Exact and tolerant (one off) hits, Pk and WindowDiff over all windows, and false closes.

    false_close: sequences without a shift that were cut · density: true shifts among the places where one can
    be.
    """
    by_id = {row["id"]: frozenset(row["shifts"]) for row in rows}
    pairs = [(item, by_id[item.id]) for item in cases.sequences]
    taken, wanted = sum(len(found) for _, found in pairs), sum(len(item.shifts) for item, _ in pairs)
    windows = np.array([window_errors(len(item.prompts), found, item.shifts) for item, found in pairs])
    parted, differing, total = (int(value) for value in windows.sum(axis=0))
    calm = [found for item, found in pairs if not item.shifts]
    near = sum(near_hits(found, item.shifts, tolerance=1) for item, found in pairs)
    return {
        **precision_recall_f1(sum(len(found & item.shifts) for item, found in pairs), taken, wanted),
        "tolerant_f1": share(2 * near, taken + wanted),
        "pk": share(parted, total),
        "window_diff": share(differing, total),
        "false_close": share(sum(bool(found) for found in calm), len(calm)),
        "density": share(wanted, sum(max(len(item.prompts) - 1, 0) for item, _ in pairs)),
    }


def fit(cases: SegmentCases, vectors: Mapping[str, Vector], *, model_digest: str) -> dict[str, Any]:
    """The document of the signal `fitted`, from the cases and the sequences that the package carries.

    The threshold is the smoothed best F1 over both. `transferred` is measured on the cases with a model that
    saw only the package's sequences, none of whose threads stands in the cases.
    """
    own = sequences()
    both = SegmentCases(sequences=cases.sequences + own.sequences, digest=cases.digest)
    document = _document(both, cases.digest, vectors, model_digest)
    transfer = _document(own, own.digest, vectors, model_digest)
    document["metrics"] = {
        "transferred": metrics(cases, _fitted_rows(cases, vectors, topic_model_of(transfer))),
        "in_sample": metrics(cases, _fitted_rows(cases, vectors, topic_model_of(document))),
        "jsd": metrics(cases, decide(cases, vectors, Policy(segment_signal="jsd"))),
        "drift": metrics(cases, decide(cases, vectors, Policy(segment_signal="drift"))),
    }
    return document


def _document(cases: SegmentCases, digest: str, vectors: Mapping[str, Vector], model_digest: str) -> dict[str, Any]:
    rows, labels = zip(*(step for item in cases.sequences for step in _steps(item, vectors)), strict=True)
    found = fit_logistic(np.vstack(rows), np.array(labels), penalty=_PENALTY)
    document = {
        "version": "segments-1",
        "model_digest": model_digest,
        "fitted_on": digest,
        "features": list(FEATURES),
        "weights": {name: rounded(float(value)) for name, value in zip(FEATURES, found.weights, strict=True)},
        "bias": rounded(found.bias),
    }

    open_model = topic_model_of({**document, "threshold_bp": 0})

    @cache
    def value(segment: tuple[str, ...], prompt: str) -> int:
        reading = fitted(segment, prompt, vectors=vectors, topic=open_model)
        return reading.value_bp if reading.closes else -1

    def f1(threshold_bp: int) -> float:
        rows = _rows(cases, lambda segment, prompt: value(tuple(segment), prompt) >= threshold_bp)
        return metrics(cases, rows)["f1"]

    return {**document, "threshold_bp": smoothed_best(_GRID_BP, f1)}


def _steps(item: PromptSequence, vectors: Mapping[str, Vector]) -> Iterator[tuple[Array, float]]:
    """The features of each prompt against its true open segment, and whether it begins a new one.

    Prompts that the guard holds back teach nothing; the second prompt of a segment does, though it may not
    close.
    """
    segment: list[str] = []
    for position, prompt in enumerate(item.prompts):
        row = topic_row(segment, prompt, vectors) if may_close([*segment, *segment], prompt) else None
        if row is not None:
            yield row, float(position in item.shifts)
        segment = [prompt] if position in item.shifts else [*segment, prompt]


def _fitted_rows(cases: SegmentCases, vectors: Mapping[str, Vector], topic: TopicModel) -> list[Row]:
    return _rows(cases, lambda segment, prompt: fitted(segment, prompt, vectors=vectors, topic=topic).closes)


def _rows(cases: SegmentCases, closes: Closes) -> list[Row]:
    return [{"id": item.id, "shifts": _shifts(item.prompts, closes)} for item in cases.sequences]


def _shifts(prompts: Sequence[str], closes: Closes) -> list[int]:
    segment: list[str] = []
    shifts: list[int] = []
    for position, prompt in enumerate(prompts):
        if segment and closes(segment, prompt):
            shifts.append(position)
            segment = []
        segment.append(prompt)
    return shifts
