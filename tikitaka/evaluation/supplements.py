"""Labeled texts that the package carries beside the case files, for fitting only.

`sequences.jsonl`: prompt sequences spliced from short threads of forty fields of work. `sentences.jsonl`:
single sentences, durable or not, with their kind (statement, note, prompt, chatter).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from tikitaka.evaluation.cases import SegmentCases, segment_cases


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledSentence:
    text: str
    durable: bool
    kind: Literal["statement", "note", "prompt", "chatter"]


@cache
def sequences() -> SegmentCases:
    return segment_cases(_lines("sequences.jsonl"))


@cache
def sentences() -> tuple[LabeledSentence, ...]:
    return tuple(LabeledSentence(**json.loads(line)) for line in _lines("sentences.jsonl"))


def _lines(name: str) -> list[str]:
    return (files("tikitaka.evaluation") / "data" / name).read_text(encoding="utf-8").splitlines()
