"""What safety says about a text: findings, and the text as it may be passed on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Family = Literal["secret", "injection", "hidden_text", "failure"]

MASK = "[REDACTED_SECRET]"
WITHHELD = "[UNSCREENED TEXT WITHHELD]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason to replace or hold text; the offsets count in the text that the step was given.

    `detail` explains the rule to a reviewer and never repeats a secret.
    """

    rule: str
    family: Family
    start: int
    end: int
    detail: str


@dataclass(frozen=True, slots=True)
class Redaction:
    """Text without the secrets that were found, and what was found where in the original."""

    text: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """Redacted text, whether a person must look at it, and why."""

    text: str
    redacted: bool
    quarantined: bool
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret's place in some view of the text, by the rule that saw it."""

    rule: str
    start: int
    end: int
    detail: str


def failure(text: object) -> Finding:
    """The finding that stands for a rule that broke: nobody looked at the text."""
    return Finding(
        rule="safety_error",
        family="failure",
        start=0,
        end=len(text) if isinstance(text, str) else 0,
        detail="The safety rules failed on this text, so it was not screened and is withheld.",
    )


def merge(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch or overlap joined into one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
