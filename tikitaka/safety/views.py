"""A rewriting of a text that remembers where each of its characters came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

Edit = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class View:
    """`text`, whose character i stands for the original from starts[i] to ends[i]."""

    name: str
    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that text[start:end] stands for."""
        return self.starts[start], self.ends[end - 1]

    def edited(self, name: str, edits: Iterable[Edit]) -> View:
        """A further view in which each (start, end, new) replaces a part; a new part stands for all it replaced."""
        pieces: list[str] = []
        kept: list[Edit] = []
        at = 0
        for start, end, new in edits:
            if start < at:
                continue
            pieces += (self.text[at:start], new)
            kept.append((start, end, new))
            at = end
        if at == 0:
            return self
        pieces.append(self.text[at:])
        text = "".join(pieces)
        places = _Places(self, kept, len(text))
        return View(name, text, _Offsets(places, 0), _Offsets(places, 1))

    def within(self, name: str, text: str, start: int, end: int) -> View:
        """A view of what text[start:end] decodes to; all of it stands for the whole encoded part."""
        first, last = self.span(start, end)
        return View(name, text, [first] * len(text), [last] * len(text))


class _Places:
    """Where the characters of an edited view came from; worked out when asked for, since most views hold nothing."""

    __slots__ = ("_before", "_edits", "_found", "length")

    def __init__(self, before: View, edits: list[Edit], length: int) -> None:
        self._before = before
        self._edits = edits
        self._found: tuple[list[int], list[int]] | None = None
        self.length = length

    def found(self) -> tuple[list[int], list[int]]:
        if self._found is None:
            self._found = self._work_out()
        return self._found

    def _work_out(self) -> tuple[list[int], list[int]]:
        before_starts, before_ends = self._before.starts, self._before.ends
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for start, end, new in self._edits:
            starts.extend(before_starts[at:start])
            ends.extend(before_ends[at:start])
            if new:
                starts.extend([before_starts[start]] * len(new))
                ends.extend([before_ends[end - 1]] * len(new))
            at = end
        starts.extend(before_starts[at:])
        ends.extend(before_ends[at:])
        return starts, ends


class _Offsets(Sequence[int]):
    """One side of them."""

    __slots__ = ("_places", "_side")

    def __init__(self, places: _Places, side: int) -> None:
        self._places = places
        self._side = side

    def __len__(self) -> int:
        return self._places.length

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        return self._places.found()[self._side][place]


def plain(text: str) -> View:
    """The text itself; lone surrogates, which no encoder takes, become U+FFFD one for one."""
    if not text.isascii():
        text = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return View("plain", text, range(len(text)), range(1, len(text) + 1))
