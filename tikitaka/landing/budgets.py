"""Refusals before the write: a file past its budget would lose notes without a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tikitaka.policy import Policy


class BudgetFault(StrEnum):
    """Which budget a file would break."""

    INSTRUCTIONS_TOO_LARGE = "instructions_too_large"
    DESCRIPTION_TOO_LONG = "description_too_long"
    BODY_TOO_LONG = "body_too_long"
    CATALOGUE_FULL = "catalogue_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverBudget:
    """The fault with the measured size and the limit."""

    reason: BudgetFault
    size: int
    limit: int


def check_instructions(text: str, *, policy: Policy) -> OverBudget | None:
    """The whole file in UTF-8 bytes."""
    size = len(text.encode())
    if size <= policy.instructions_file_bytes:
        return None
    return OverBudget(reason=BudgetFault.INSTRUCTIONS_TOO_LARGE, size=size, limit=policy.instructions_file_bytes)


def check_skill(text: str, description: str, *, policy: Policy) -> OverBudget | None:
    """Description in characters, body in lines."""
    if len(description) > policy.skill_description_chars:
        limit = policy.skill_description_chars
        return OverBudget(reason=BudgetFault.DESCRIPTION_TOO_LONG, size=len(description), limit=limit)
    lines = text.count("\n")
    if lines > policy.skill_body_lines_max:
        return OverBudget(reason=BudgetFault.BODY_TOO_LONG, size=lines, limit=policy.skill_body_lines_max)
    return None


def catalogue_size(skills: Mapping[str, str]) -> int:
    """Characters of all names and descriptions, which a runtime always loads."""
    return sum(len(name) + len(description) for name, description in skills.items())


def check_catalogue(skills: Mapping[str, str], *, policy: Policy) -> OverBudget | None:
    """The agent's whole catalogue with the new skill in it."""
    size = catalogue_size(skills)
    if size <= policy.catalogue_chars:
        return None
    return OverBudget(reason=BudgetFault.CATALOGUE_FULL, size=size, limit=policy.catalogue_chars)
