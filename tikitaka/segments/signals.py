"""The three signals for a change of topic between the prompts of an open segment and the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tikitaka.policy import Policy, SegmentSignal
from tikitaka.ports import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalReading:
    """What one signal said: value and threshold in basis points, and whether that closes the segment."""

    name: SegmentSignal
    value_bp: int
    threshold_bp: int
    closes: bool


def read(
    prompts: Sequence[str], new_prompt: str, *, vectors: Mapping[str, Vector], policy: Policy
) -> SignalReading:
    """The reading of the signal that the policy names; `vectors` must hold every prompt (`jsd` needs none)."""
    raise NotImplementedError
