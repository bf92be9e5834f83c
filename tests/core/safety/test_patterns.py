"""A pattern that says what it needs must find the same as without: what it never enters RE2 for cannot match."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tikitaka.safety
from tikitaka.safety.patterns import Pattern


def _choosy_patterns() -> list[tuple[str, Pattern]]:
    found = []
    for module in pkgutil.iter_modules(tikitaka.safety.__path__):
        if module.name.startswith("__"):
            continue
        names = vars(importlib.import_module(f"tikitaka.safety.{module.name}"))
        found += [(f"{module.name}.{name}", p) for name, p in names.items() if isinstance(p, Pattern) and p.needs]
    return found


CHOOSY = _choosy_patterns()


def test_there_are_patterns_that_name_their_needs() -> None:
    assert len(CHOOSY) > 10


@pytest.mark.parametrize(("name", "pattern"), CHOOSY, ids=[name for name, _ in CHOOSY])
def test_every_match_holds_what_the_pattern_needs(name: str, pattern: Pattern) -> None:
    @settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.from_regex(re.compile(pattern.source)))
    def holds(text: str) -> None:
        assert bool(list(pattern.finditer(text))) == bool(list(pattern.program.finditer(text)))

    holds()
