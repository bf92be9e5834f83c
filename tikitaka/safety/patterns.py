"""Patterns that run in linear time: compiled by RE2 at first use, since notes are hostile input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Protocol, cast

import re2


def _options(*, capture: bool) -> re2.Options:
    options = re2.Options()
    options.max_mem = 256 << 20
    options.log_errors = False
    options.never_capture = not capture
    return options


class Match(Protocol):
    """The part of a match that the rules use."""

    def start(self, group: int = 0) -> int: ...
    def end(self, group: int = 0) -> int: ...
    def span(self, group: int = 0) -> tuple[int, int]: ...
    def group(self, group: int = 0) -> str: ...


class _AsciiMatch:
    """A match in the bytes of an ASCII text, where no offset has to be converted, which costs more than the search."""

    __slots__ = ("_text", "end", "span", "start")

    def __init__(self, text: str, found: re2._Match) -> None:
        self._text = text
        self.start, self.end, self.span = found.start, found.end, found.span

    def group(self, group: int = 0) -> str:
        start, end = self.span(group)
        return self._text[start:end] if start >= 0 else cast("str", None)


class Pattern:
    """One RE2 program; compiling waits for the first text so that importing stays cheap.

    Large programs do without groups: finding a span then never leaves the automaton. `needs` are words one of which
    stands in every match (in folded case where case is ignored): most texts then never enter RE2, which hands the
    interpreter to another thread at each call.
    """

    __slots__ = ("_folds", "_program", "capture", "needs", "source")

    def __init__(self, source: str, *, capture: bool = True, needs: Sequence[str] = ()) -> None:
        self.source = source
        self.capture = capture
        self.needs = tuple(needs)
        self._folds = source.startswith("(?i)")
        self._program: re2._Regexp | None = None

    @property
    def program(self) -> re2._Regexp:
        if self._program is None:
            self._program = re2.compile(self.source, _options(capture=self.capture))
        return self._program

    def finditer(self, text: str) -> Iterator[Match]:
        if not self._may_match(text):
            return iter(())
        if text.isascii():
            return map(partial(_AsciiMatch, text), self.program.finditer(text.encode()))
        return cast("Iterator[Match]", self.program.finditer(text))

    def search(self, text: str) -> Match | None:
        return cast("Match | None", self.program.search(text)) if self._may_match(text) else None

    def fullmatch(self, text: str) -> Match | None:
        return cast("Match | None", self.program.fullmatch(text))

    def _may_match(self, text: str) -> bool:
        if not self.needs:
            return True
        searched = _folded(text) if self._folds else text
        for word in self.needs:  # noqa: SIM110 any() over a generator costs more than the search
            if word in searched:
                return True
        return False


@lru_cache(maxsize=4)
def _folded(text: str) -> str:
    """One text is asked by many patterns in turn."""
    return text.casefold()


def any_of(words: Sequence[str]) -> str:
    """A non-capturing alternation, longest word first so that a prefix never hides a longer word."""
    return "(?:" + "|".join(sorted(words, key=lambda word: (-len(word), word))) + ")"


class PatternSet:
    """Many patterns of which one pass says which match at the start of a text."""

    __slots__ = ("_program", "sources")

    def __init__(self, sources: Sequence[str]) -> None:
        self.sources = tuple(sources)
        self._program: re2.Set | None = None

    def match(self, text: str) -> list[int]:
        """The indices of the patterns that match at the start of `text`."""
        if self._program is None:
            program = re2.Set.MatchSet(_options(capture=False))
            for source in self.sources:
                program.Add(source)
            program.Compile()
            self._program = program
        found = self._program.Match(text)
        return list(range(len(self.sources))) if found is None else sorted(found)  # None: out of memory
