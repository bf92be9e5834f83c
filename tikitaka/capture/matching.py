"""Which turn of a second recording is which turn of the first, so that it fills gaps and doubles nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tikitaka.capture.codex_calls import unwrapped
from tikitaka.capture.shape import objects, text

_MARK_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A turn as far as two recordings of it agree. `marks` name its spans; an empty text is an unknown one.

    `traces` are those in which its spans were recorded, where the form has such a thing.
    """

    prompt: str
    answer: str
    marks: Counter[str]
    traces: frozenset[str] = frozenset()


def mark(kind: str, shown: str, data: Mapping[str, Any]) -> str:
    """What a span is called in every form: a command by its line, a change by its files, a call by its arguments.

    Where the form gives a call an id, that is its name: one part of a recording may know no arguments of it.
    """
    if text(data.get("call")):
        return f"call\0{text(data['call'])}"
    if kind == "command":
        return f"{kind}\0{_folded(unwrapped(text(data.get('command')) or shown))[:_MARK_CHARS]}"
    if kind == "file_change":
        names = sorted(text(change.get("path")).rsplit("/", 1)[-1] for change in objects(data.get("changes")))
        return "\0".join([kind, *names])
    if kind == "tool_call":
        return f"{kind}\0{shown.partition(chr(10))[0]}"
    return f"{kind}\0{_folded(shown)}"


def traces(data: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The traces that the spans of a turn name."""
    return frozenset(name for one in data if (name := text(one.get("trace"))))


def align(incoming: Sequence[Outline], stored: Sequence[Outline], *, same_form: bool) -> list[int | None]:
    """For each incoming turn its place among the stored ones, or None for a new one; the likest pairs first.

    Two recordings in one form are two parts of a resumed session unless they agree; in two forms, turns about which
    nothing is known that contradicts are paired by order.
    """
    scored = [
        (-score, place, other)
        for place, new in enumerate(incoming)
        for other, old in enumerate(stored)
        if (score := _likeness(new, old)) > 0
    ]
    found: list[int | None] = [None] * len(incoming)
    taken: set[int] = set()
    for _, place, other in sorted(scored):
        if found[place] is None and other not in taken:
            found[place] = other
            taken.add(other)
    if not same_form:
        _pair_by_order(found, taken, incoming, stored)
    return found


def merged(stored: Sequence[str], incoming: Sequence[str]) -> tuple[list[int | None], list[tuple[int, int]]]:
    """Stored marks and incoming ones as one sequence.

    Returns for each incoming mark the place of the stored one that it equals, and for the others where they belong:
    pairs of incoming place and the number of stored marks that come before it.
    """
    waiting: dict[str, list[int]] = {}
    for place in range(len(stored) - 1, -1, -1):
        waiting.setdefault(stored[place], []).append(place)
    found: list[int | None] = []
    added: list[tuple[int, int]] = []
    behind = 0
    for place, name in enumerate(incoming):
        match = waiting[name].pop() if waiting.get(name) else None
        found.append(match)
        if match is None:
            added.append((place, behind))
        else:
            behind = match + 1
    return found, added


def _pair_by_order(
    found: list[int | None], taken: set[int], incoming: Sequence[Outline], stored: Sequence[Outline]
) -> None:
    new = [place for place, match in enumerate(found) if match is None]
    old = [place for place in range(len(stored)) if place not in taken]
    for place, other in zip(new, old, strict=False):
        if not _contradicts(incoming[place], stored[other]):
            found[place] = other


def _likeness(new: Outline, old: Outline) -> int:
    if new == old:
        return max(1, new.marks.total() + (3 if new.answer else 0) + (4 if new.prompt else 0))
    if _differ(new.prompt, old.prompt):
        return 0
    shared = (new.marks & old.marks).total()
    same_answer = bool(new.answer) and _folded(new.answer) == _folded(old.answer)
    if _differ(new.answer, old.answer) and not shared:
        return 0
    # Work of a trace whose prompt is not known yet belongs to the turn that is known of the trace.
    same_trace = bool(new.traces & old.traces) and not (new.prompt and old.prompt)
    return shared + (3 if same_answer else 0) + (4 if new.prompt and old.prompt else 0) + (1 if same_trace else 0)


def _contradicts(new: Outline, old: Outline) -> bool:
    return _differ(new.prompt, old.prompt) or _differ(new.answer, old.answer)


def _differ(left: str, right: str) -> bool:
    return bool(left) and bool(right) and _folded(left) != _folded(right)


def _folded(shown: str) -> str:
    return " ".join(shown.split())
