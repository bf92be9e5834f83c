"""Lists of words and phrases as they are written down in the modules that own them."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Words parted by white space."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """Phrases parted by bars, in order; line ends inside the list mean nothing."""
    return tuple(" ".join(phrase.split()) for phrase in text.split("|") if phrase.strip())


def listed(text: str) -> tuple[str, ...]:
    """Entries parted by commas, in order; an entry may hold blanks and bars."""
    return tuple(" ".join(entry.split()) for entry in text.split(",") if entry.strip())
