"""Evaluation and fitting of recognition: one decision a note, before any review, with the whole team as
candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tikitaka.evaluation.cases import RoutingCases, RoutingNote, routing_cases
from tikitaka.evaluation.fitting import fit_logistic, rounded, smoothed_best
from tikitaka.evaluation.metrics import area_under_curve, precision_recall_f1, share
from tikitaka.ports import Vector
from tikitaka.routing.calibration import Calibration, calibration_of, load_calibration
from tikitaka.routing.eligibility import audience_exclusions
from tikitaka.routing.features import FEATURES, measure
from tikitaka.routing.profiles import distinct_profiles, texts_to_embed
from tikitaka.routing.recognition import recognize
from tikitaka.routing.vectors import Array

COEFFICIENTS_PATH = "tikitaka/routing/coefficients.json"

Row = dict[str, Any]

_PENALTY = 3.0
# Cross-validated, .20 to .28 costs .006 of F1, halves the leak, and takes nobody's notes granted from .50 to
# .29.
_FLOOR_BP = 2_800
_GRID_BP = range(1_000, 7_001, 200)

parse = routing_cases


def texts(cases: RoutingCases) -> list[str]:
    """Every text whose vector `decide` and `fit` need."""
    found = [text for note in cases.notes for text in texts_to_embed(cases.teams[note.team], note.text)]
    return list(dict.fromkeys(found))


fitting_texts = texts


def decide(cases: RoutingCases, vectors: Mapping[str, Vector], calibration: Calibration | None = None) -> list[Row]:
    """One row a note: `granted` keys at threshold, the `fallback` key or None, `scores` in basis points by
    key.
    """
    in_force = calibration or load_calibration()
    return [_decision(cases, note, vectors, in_force) for note in cases.notes]


def metrics(cases: RoutingCases, rows: Sequence[Row]) -> dict[str, float]:
    """Over pairs granted at threshold.

    leak: granted pairs of all must_not pairs · none_granted: nobody's notes that somebody was granted ·
    fallback: notes that end in one · exact: recipients exactly right without review · auc: over all scored
    pairs.
    """
    by_id = {row["id"]: row for row in rows}
    pairs = [(note, frozenset(by_id[note.id]["granted"])) for note in cases.notes]
    nobody = [granted for note, granted in pairs if not note.recipients]
    scored = [
        (score, key in note.recipients) for note in cases.notes for key, score in by_id[note.id]["scores"].items()
    ]
    return {
        **precision_recall_f1(
            sum(len(granted & note.recipients) for note, granted in pairs),
            sum(len(granted) for _, granted in pairs),
            sum(len(note.recipients) for note, _ in pairs),
        ),
        "leak": share(
            sum(len(granted & note.must_not) for note, granted in pairs),
            sum(len(note.must_not) for note, _ in pairs),
        ),
        "none_granted": share(sum(bool(granted) for granted in nobody), len(nobody)),
        "fallback": share(sum(row["fallback"] is not None for row in rows), len(rows)),
        "exact": share(sum(granted == note.recipients for note, granted in pairs), len(pairs)),
        "auc": area_under_curve([score for score, _ in scored], [label for _, label in scored]),
    }


def fit(cases: RoutingCases, vectors: Mapping[str, Vector], *, model_digest: str) -> dict[str, Any]:
    """The calibration document; its threshold is the smoothed best F1 where each team is scored by the
    others' fit.
    """
    folds = {
        team: _document(cases, _training(cases, vectors, without=team), model_digest)
        for team in sorted({note.team for note in cases.notes})
    }

    def held_out(threshold_bp: int) -> list[Row]:
        in_force = {
            team: calibration_of({**document, "threshold_bp": threshold_bp}) for team, document in folds.items()
        }
        return [_decision(cases, note, vectors, in_force[note.team]) for note in cases.notes]

    best = smoothed_best(_GRID_BP, lambda value: metrics(cases, held_out(value))["f1"])
    document = {**_document(cases, _training(cases, vectors), model_digest), "threshold_bp": best}
    rows = decide(cases, vectors, calibration_of(document))
    document["metrics"] = {
        "cross_validated": metrics(cases, held_out(best)),
        "in_sample": metrics(cases, rows),
    }
    return document


def _document(cases: RoutingCases, training: tuple[Array, Array], model_digest: str) -> dict[str, Any]:
    found = fit_logistic(*training, penalty=_PENALTY)
    return {
        "version": "routing-1",
        "model_digest": model_digest,
        "fitted_on": cases.digest,
        "features": list(FEATURES),
        "weights": {name: rounded(float(value)) for name, value in zip(FEATURES, found.weights, strict=True)},
        "bias": rounded(found.bias),
        "threshold_bp": 0,
        "floor_bp": _FLOOR_BP,
    }


def _training(cases: RoutingCases, vectors: Mapping[str, Vector], *, without: str | None = None) -> tuple[Array, Array]:
    rows, labels = zip(*_measured(cases, vectors, without), strict=True)
    return np.vstack(rows), np.concatenate(labels)


def _measured(cases: RoutingCases, vectors: Mapping[str, Vector], without: str | None) -> Iterator[tuple[Array, Array]]:
    for note in cases.notes:
        if note.team == without:
            continue
        measured = measure(distinct_profiles(cases.teams[note.team]), note.text, vectors)
        if measured is not None and measured.keys:
            yield measured.rows, np.array([float(key in note.recipients) for key in measured.keys])


def _decision(cases: RoutingCases, note: RoutingNote, vectors: Mapping[str, Vector], calibration: Calibration) -> Row:
    agents = cases.teams[note.team]
    found = recognize(
        note.text,
        agents,
        [agent.key for agent in agents],
        vectors=vectors,
        calibration=calibration,
        eligibility=audience_exclusions(note.text.whole, agents),
    )
    return {
        "id": note.id,
        "granted": [item.key for item in found.verdicts if item.match_kind == "threshold"],
        "fallback": found.fallback,
        "scores": {item.key: item.score_bp for item in found.verdicts if item.score_bp is not None},
    }
