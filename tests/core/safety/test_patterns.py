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


def _patterns() -> list[tuple[str, Pattern]]:
    found = []
    for module in pkgutil.iter_modules(tikitaka.safety.__path__):
        if module.name.startswith("__"):
            continue
        names = vars(importlib.import_module(f"tikitaka.safety.{module.name}"))
        found += [(f"{module.name}.{name}", p) for name, p in names.items() if isinstance(p, Pattern)]
    return found


ALL = _patterns()
CHOOSY = [(name, pattern) for name, pattern in ALL if pattern.needs]


def test_there_are_patterns_that_name_their_needs() -> None:
    assert len(CHOOSY) > 10


@pytest.mark.parametrize(("name", "pattern"), CHOOSY, ids=[name for name, _ in CHOOSY])
def test_every_match_holds_what_the_pattern_needs(name: str, pattern: Pattern) -> None:
    @settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.from_regex(re.compile(pattern.source)))
    def holds(text: str) -> None:
        assert bool(list(pattern.finditer(text))) == bool(list(pattern.program.finditer(text)))

    holds()


BY_RE = [(name, pattern) for name, pattern in ALL if "(?i)" not in pattern.source[4:]]  # which re cannot generate


@pytest.mark.parametrize(("name", "pattern"), BY_RE, ids=[name for name, _ in BY_RE])
def test_a_match_in_ascii_text_is_the_one_that_re2_finds_in_it(name: str, pattern: Pattern) -> None:
    @settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.from_regex(re.compile(pattern.source, re.ASCII)), st.sampled_from(["", "\u00e9", " ab "]))
    def holds(text: str, more: str) -> None:
        text += more
        groups = range(pattern.program.groups + 1) if pattern.capture else range(1)
        found = [[(m.span(g), m.start(g), m.end(g), m.group(g)) for g in groups] for m in pattern.finditer(text)]
        by_re2 = pattern.program.finditer(text)
        assert found == [[(m.span(g), m.start(g), m.end(g), m.group(g)) for g in groups] for m in by_re2]

    holds()
