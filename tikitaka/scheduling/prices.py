"""What tokens cost: a price list by model or runtime, and the cost of a count of tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import Any

from tikitaka.errors import Invalid

_COUNT_MAX = 10**12  # of one call; more is a runtime's error, and a column's end is not its to reach
_PRICE_MAX = Decimal(100_000)
_NAMES = ("input", "cached_input", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Of a million tokens, in units of the installation's one currency: of one token, in millionths."""

    input: Decimal
    output: Decimal
    cached_input: Decimal

    def cost_micros(self, tokens: TokenCount) -> int:
        """The cost in millionths of the currency, rounded up."""
        fresh = tokens.input - tokens.cached_input
        cost = fresh * self.input + tokens.cached_input * self.cached_input + tokens.output * self.output
        return int(cost.to_integral_value(rounding=ROUND_UP))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """Tokens of one call; `cached_input` is a part of `input`."""

    input: int = 0
    cached_input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


def token_count(counts: Mapping[str, int]) -> TokenCount:
    """The tokens that a runtime reports, by the names of `codex exec --json`; what it does not name counts nothing."""
    found = {name: min(max(counts.get(f"{name}_tokens", 0), 0), _COUNT_MAX) for name in _NAMES}
    return TokenCount(
        input=found["input"], cached_input=min(found["cached_input"], found["input"]), output=found["output"]
    )


def price_list(text: str) -> dict[str, Price]:
    """Prices by name from `{"NAME": {"input": "0.25", "cached_input": "0.025", "output": "2"}}`.

    A name is a model's or a runtime's; cached input costs as much as other input where nothing else is said. Raises
    Invalid that names what is wrong.
    """
    if not text.strip():
        return {}
    try:
        document = json.loads(text)
    except ValueError as error:
        raise Invalid(prices="is not JSON") from error
    if not isinstance(document, dict):
        raise Invalid(prices="is not a JSON object")
    return {name: _price(name, entry) for name, entry in document.items()}


def _price(name: str, entry: Any) -> Price:
    if not isinstance(entry, dict) or not {"input", "output"} <= entry.keys() <= set(_NAMES):
        raise Invalid(prices=f"of {name} needs input and output, may have cached_input, and nothing else")
    found = {part: _amount(name, entry[part]) for part in entry}
    return Price(input=found["input"], output=found["output"], cached_input=found.get("cached_input", found["input"]))


def _amount(name: str, value: Any) -> Decimal:
    try:
        amount = Decimal(str(value)) if not isinstance(value, bool) else Decimal(-1)
    except InvalidOperation:
        amount = Decimal(-1)
    if not (amount.is_finite() and 0 <= amount <= _PRICE_MAX):
        raise Invalid(prices=f"of {name} must be numbers from 0 to {_PRICE_MAX}")
    return amount
