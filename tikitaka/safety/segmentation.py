"""Words found again in letters that were run together."""

from __future__ import annotations

import re
from functools import lru_cache

from tikitaka.safety.intent import english
from tikitaka.safety.views import Edit, View
from tikitaka.safety.wordlists import words

_RUN = re.compile(r"[A-Za-z]{12,400}")
_SMALL = words(
    """
    a i an the this that these those and or of to in on at for from with by as is are was were be been you your
    my me it its do not no all any every each now then so next please must should will what when where who how
    which if before after say said was done step tool note team task test tests file run use one two new code
    give given get make answer reply here there them they we us our admin user value hand text into out up down
    off about above
    """
)


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(word for phrase in english().phrases for word in phrase.split()) | frozenset(_SMALL)


def segmented(view: View) -> View:
    """Long runs of letters parted into known words, where nearly all of a run is made of them."""
    edits: list[Edit] = []
    for match in _RUN.finditer(view.text):
        words = _part(match.group().lower())
        if words:
            edits.append((*match.span(), " ".join(words)))
    return view.edited("parted", edits) if edits else view


def _part(run: str) -> list[str]:
    """The parting with the fewest unknown letters; nothing when more than a fifth are unknown."""
    known = _known()
    best: list[tuple[int, int, int]] = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        choice = (best[end - 1][0] + 3, best[end - 1][1] + 1, end - 1)
        for start in range(max(0, end - 16), end):
            if run[start:end] in known:
                choice = min(choice, (best[start][0], best[start][1] + 1, start))
        best.append(choice)
    if best[-1][0] * 5 > len(run) * 3:
        return []
    words: list[str] = []
    end = len(run)
    while end:
        start = best[end][2]
        words.append(run[start:end])
        end = start
    return words[::-1]
