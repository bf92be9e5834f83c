"""A rewriting of a text that remembers where each of its characters came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for start, end, new in edits:
            if start < at:
                continue
            pieces.append(self.text[at:start])
            starts.extend(self.starts[at:start])
            ends.extend(self.ends[at:start])
            if new:
                pieces.append(new)
                starts.extend([self.starts[start]] * len(new))
                ends.extend([self.ends[end - 1]] * len(new))
            at = end
        if at == 0:
            return self
        pieces.append(self.text[at:])
        starts.extend(self.starts[at:])
        ends.extend(self.ends[at:])
        return View(name, "".join(pieces), starts, ends)

    def within(self, name: str, text: str, start: int, end: int) -> View:
        """A view of what text[start:end] decodes to; all of it stands for the whole encoded part."""
        first, last = self.span(start, end)
        return View(name, text, [first] * len(text), [last] * len(text))


def plain(text: str) -> View:
    """The text itself; lone surrogates, which no encoder takes, become U+FFFD one for one."""
    if not text.isascii():
        text = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return View("plain", text, range(len(text)), range(1, len(text) + 1))
