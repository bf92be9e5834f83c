"""Patterns that run in linear time: compiled by RE2 at first use, since notes are hostile input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

import re2


class Match(Protocol):
    """The part of a match that the rules use."""

    def start(self, group: int = 0) -> int: ...
    def end(self, group: int = 0) -> int: ...
    def span(self, group: int = 0) -> tuple[int, int]: ...
    def group(self, group: int = 0) -> str: ...


class Pattern:
    """One RE2 program; compiling waits for the first text so that importing stays cheap."""

    __slots__ = ("_program", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._program: re2._Regexp | None = None

    @property
    def program(self) -> re2._Regexp:
        if self._program is None:
            self._program = re2.compile(self.source)
        return self._program

    def finditer(self, text: str) -> Iterator[Match]:
        return cast("Iterator[Match]", self.program.finditer(text))

    def search(self, text: str) -> Match | None:
        return cast("Match | None", self.program.search(text))

    def fullmatch(self, text: str) -> Match | None:
        return cast("Match | None", self.program.fullmatch(text))


def any_of(words: Sequence[str]) -> str:
    """A non-capturing alternation, longest word first so that a prefix never hides a longer word."""
    return "(?:" + "|".join(sorted(words, key=lambda word: (-len(word), word))) + ")"
