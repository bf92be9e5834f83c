"""Each kind of evaluation from lines to decisions, figures and a fitted document, with made-up vectors."""

import hashlib
import json
import pathlib

import pytest

from tikitaka.evaluation import extraction, routing, segments
from tikitaka.evaluation.registry import EVALUATORS

CASES = pathlib.Path(__file__).parents[2] / "cases"


def vectors(texts, size=384):
    """One direction a text, from its digest."""
    found = {}
    for text in texts:
        seed = hashlib.shake_256(text.encode()).digest(size)
        found[text] = tuple(byte / 255 - 0.5 for byte in seed)
    return found


def visible(name):
    return (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


ROUTING = [
    json.dumps(
        {
            "kind": "team",
            "team": team,
            "agents": [
                {"key": key, "name": f"{key} Agent", "description": f"{key} work.", "instructions": ""} for key in keys
            ],
        }
    )
    for team, keys in (("one", ("cook", "guard")), ("two", ("clerk", "pilot", "nurse")))
] + [
    json.dumps(
        {
            "id": f"{team}-{key}",
            "team": team,
            "content": f"{key} rule {extra}",
            "description": "d",
            "recipients": [key],
            "must_not": [],
        }
    )
    for team, key in (("one", "cook"), ("one", "guard"), ("two", "clerk"), ("two", "pilot"))
    for extra in ("first", "second")
]


def test_routing_rows_carry_what_was_granted_the_fallback_and_all_scores():
    kind = EVALUATORS["routing"]
    cases = kind.parse(ROUTING)
    rows = kind.decide(cases, vectors(kind.texts(cases)))

    assert [row["id"] for row in rows] == [note.id for note in cases.notes]
    for row in rows:
        assert set(row) == {"id", "granted", "fallback", "scores"}
        assert bool(row["granted"]) == (row["fallback"] is None)
        assert all(isinstance(score, int) and 0 <= score <= 10_000 for score in row["scores"].values())
        assert len(row["scores"]) in (2, 3)
    json.dumps([rows, kind.metrics(cases, rows)])


def test_routing_figures_by_hand():
    cases = routing.parse(
        [
            json.dumps({"kind": "team", "team": "t", "agents": [{"key": k, "name": k} for k in "abc"]}),
            json.dumps({"id": "1", "team": "t", "content": "x", "recipients": ["a", "b"], "must_not": ["c"]}),
            json.dumps({"id": "2", "team": "t", "content": "y", "recipients": [], "must_not": ["a"]}),
            json.dumps({"id": "3", "team": "t", "content": "z", "recipients": ["c"], "must_not": []}),
        ]
    )
    rows = [
        {"id": "1", "granted": ["a", "c"], "fallback": None, "scores": {"a": 9, "b": 1, "c": 8}},
        {"id": "2", "granted": ["a"], "fallback": None, "scores": {"a": 2, "b": 7, "c": 2}},
        {"id": "3", "granted": [], "fallback": "c", "scores": {"a": 1, "b": 1, "c": 3}},
    ]

    assert routing.metrics(cases, rows) == {
        "precision": 0.3333,
        "recall": 0.3333,
        "f1": 0.3333,
        "leak": 1.0,
        "none_granted": 1.0,
        "fallback": 0.3333,
        "exact": 0.0,
        "auc": 0.6111,
    }


def test_segment_figures_by_hand():
    cases = segments.parse(
        [
            json.dumps({"id": "1", "prompts": list("abcdef"), "shifts": [3]}),
            json.dumps({"id": "2", "prompts": list("abc"), "shifts": []}),
        ]
    )
    rows = [{"id": "1", "shifts": [2]}, {"id": "2", "shifts": [1]}]
    found = segments.metrics(cases, rows)

    assert (found["f1"], found["tolerant_f1"], found["false_close"]) == (0.0, 0.6667, 1.0)
    assert found["density"] == 0.1429
    assert (found["pk"], found["window_diff"]) == (0.6, 0.6)


def test_extraction_figures_by_hand():
    messages = [{"speaker": "A", "text": text, "durable": text == "keep"} for text in ("keep", "x", "y", "z")]
    cases = extraction.parse([json.dumps({"id": "1", "messages": messages})])

    assert extraction.metrics(cases, [{"id": "1", "picked": [0, 2]}]) == {
        "precision": 0.5,
        "recall": 1.0,
        "f1": 0.6667,
        "chatter_taken": 0.3333,
    }


@pytest.mark.parametrize("name", ["segments", "extraction"])
def test_decisions_are_positions_in_their_sequence(name):
    kind = EVALUATORS[name]
    cases = kind.parse(visible({"segments": "segments", "extraction": "transcripts"}[name]))
    rows = kind.decide(cases, vectors(kind.texts(cases)))

    key, lengths = (
        ("shifts", [len(item.prompts) for item in cases.sequences])
        if name == "segments"
        else ("picked", [len(item.messages) for item in cases.transcripts])
    )
    for row, length in zip(rows, lengths, strict=True):
        assert set(row) == {"id", key}
        assert row[key] == sorted(set(row[key]))
        assert all(0 <= position < length for position in row[key])
    json.dumps([rows, kind.metrics(cases, rows)])


@pytest.mark.parametrize("name", ["segments", "extraction", "routing"])
def test_a_fit_is_deterministic_and_its_document_can_be_read_back(name):
    kind = EVALUATORS[name]
    lines = {
        "routing": ROUTING,
        "segments": visible("segments")[:4],
        "extraction": visible("transcripts")[:3],
    }[name]
    cases = kind.parse(lines)
    known = vectors(kind.fitting_texts(cases), size=8)
    document = kind.fit(cases, known, model_digest="abc")

    assert document == kind.fit(cases, known, model_digest="abc")
    assert document["model_digest"] == "abc"
    assert document["fitted_on"] == cases.digest
    assert document["metrics"]
    assert json.loads(json.dumps(document)) == document


def test_each_kind_that_is_fitted_names_its_coefficients():
    assert {kind.COEFFICIENTS_PATH for kind in EVALUATORS.values() if kind.fit} == {
        "tikitaka/routing/coefficients.json",
        "tikitaka/segments/coefficients.json",
        "tikitaka/notes/coefficients.json",
    }
