"""What is measured between one note and each agent of a team: eight numbers an agent, most of them relative.

The absolute cosine differs in level from team to team; what separates agents is how each compares with the
others (reference/routing.md 1.1). The word scores see the same distinct profiles as the vectors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tikitaka.ports import Vector
from tikitaka.routing.profiles import DistinctProfile, NoteText
from tikitaka.routing.vectors import Array, unit_of
from tikitaka.routing.words import content_stems

FEATURES = ("own", "clause", "centered", "margin", "share", "words", "words_margin", "occasion_margin")

_SHARE_TEMPERATURE = 0.05
_BM25_K1 = 1.2
_BM25_B = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The agents that could be measured, in roster order, with one row of FEATURES and one `blend` each."""

    keys: tuple[str, ...]
    rows: Array
    blend: Array
    words: Array


def measure(profiles: Sequence[DistinctProfile], note: NoteText, vectors: Mapping[str, Vector]) -> Measured | None:
    """The numbers of every agent whose vectors are usable; None when the note's own are not."""
    whole, occasion = unit_of(note.whole, vectors), unit_of(note.occasion, vectors)
    if whole is None or occasion is None or whole.shape != occasion.shape:
        return None
    usable = [(item, *pair) for item in profiles if (pair := _profile_vectors(item, vectors, whole.shape))]
    if not usable:
        return Measured(keys=(), rows=np.zeros((0, len(FEATURES))), blend=np.zeros(0), words=np.zeros(0))
    own = np.stack([vector for _, vector, _ in usable])
    clauses = [matrix for _, _, matrix in usable]
    own_cosine, clause_cosine = own @ whole, np.array([(matrix @ whole).max() for matrix in clauses])
    blend: Array = (own_cosine + clause_cosine) / 2
    occasion_blend = (own @ occasion + np.array([(matrix @ occasion).max() for matrix in clauses])) / 2
    words = bm25(content_stems(note.whole), [item.stems for item, _, _ in usable])
    columns = (
        own_cosine,
        clause_cosine,
        _centered(own, whole),
        margins(blend),
        _shares(blend),
        words,
        margins(words),
        margins(occasion_blend),
    )
    keys = tuple(item.key for item, _, _ in usable)
    return Measured(keys=keys, rows=np.stack(columns, axis=1), blend=blend, words=words)


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> Array:
    """BM25 of each document for the distinct stems of the query, with the frequencies of this team."""
    counts = [Counter(document) for document in documents]
    mean_length = sum(map(len, documents)) / len(documents) or 1.0
    scores = np.zeros(len(documents))
    for word in dict.fromkeys(query):
        holders = sum(word in count for count in counts)
        rarity = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
        for index, count in enumerate(counts):
            long = 1 - _BM25_B + _BM25_B * len(documents[index]) / mean_length
            scores[index] += rarity * count[word] * (_BM25_K1 + 1) / (count[word] + _BM25_K1 * long)
    return scores


def margins(scores: Array) -> Array:
    """Each score less the best of the others; 0 for one that has no others."""
    if len(scores) < 2:
        return np.zeros(len(scores))
    best, second = np.sort(scores)[[-1, -2]]
    leader = int(scores.argmax())
    others = np.full(len(scores), best)
    others[leader] = second
    result: Array = scores - others
    return result


def _profile_vectors(
    profile: DistinctProfile, vectors: Mapping[str, Vector], shape: tuple[int, ...]
) -> tuple[Array, Array] | None:
    found = [unit_of(text, vectors) for text in (profile.text, *profile.clauses)]
    usable = [vector for vector in found if vector is not None and vector.shape == shape]
    if len(usable) < len(found):
        return None
    return usable[0], np.stack(usable[1:])


def _centered(own: Array, note: Array) -> Array:
    """Cosine of the note with each profile's direction away from the team's mean."""
    away = own - own.mean(axis=0)
    length = np.linalg.norm(away, axis=1)
    cosine: Array = np.divide(away @ note, length, out=np.zeros(len(own)), where=length > 1e-9)
    return cosine


def _shares(blend: Array) -> Array:
    raised = np.exp((blend - blend.max()) / _SHARE_TEMPERATURE)
    share: Array = raised / raised.sum()
    return share
