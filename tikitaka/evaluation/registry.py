"""The kinds of evaluation behind one command: each kind is one entry of a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tikitaka.evaluation import extraction, replies, routing, segments
from tikitaka.ports import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """What `evaluate KIND FILE` does with the lines of FILE.

    `texts` (for decisions) and `fitting_texts` (for `fit`) say which vectors must be handed over. `fit` takes
    `model_digest=` and returns the document for COEFFICIENTS_PATH; None where nothing is fitted.
    """

    parse: Callable[[Iterable[str]], Any]
    texts: Callable[[Any], list[str]]
    decide: Callable[[Any, Mapping[str, Vector]], list[dict[str, Any]]]
    metrics: Callable[[Any, Sequence[dict[str, Any]]], dict[str, float]]
    fitting_texts: Callable[[Any], list[str]] | None = None
    fit: Callable[..., dict[str, Any]] | None = None
    COEFFICIENTS_PATH: str | None = None


EVALUATORS: Mapping[str, Evaluator] = MappingProxyType(
    {
        name: Evaluator(
            parse=module.parse,
            texts=module.texts,
            decide=module.decide,
            metrics=module.metrics,
            fitting_texts=module.fitting_texts,
            fit=module.fit,
            COEFFICIENTS_PATH=module.COEFFICIENTS_PATH,
        )
        for name, module in (("routing", routing), ("segments", segments), ("extraction", extraction))
    }
    | {"replies": Evaluator(parse=replies.parse, texts=replies.texts, decide=replies.decide, metrics=replies.metrics)}
)
