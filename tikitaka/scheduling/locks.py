"""Locks on the code tree: globs reduced to directory prefixes, compared by containment in either direction."""

from __future__ import annotations

from collections.abc import Iterable


def lock_prefix(glob: str) -> str:
    """The directory prefix of a glob, without trailing stars and slashes; the empty prefix contains everything."""
    parts: list[str] = []
    for part in glob.split("/"):
        if any(character in part for character in "*?["):
            break
        if part:
            parts.append(part)
    return "/".join(parts)


def lock_prefixes(globs: Iterable[str]) -> tuple[str, ...]:
    """The prefixes of a node, without those that another of its own already contains."""
    found = sorted({lock_prefix(glob) for glob in globs})
    return tuple(p for p in found if not any(q != p and contains(q, p) for q in found))


def contains(outer: str, inner: str) -> bool:
    """True when `inner` is `outer` or lies below it."""
    return outer in ("", inner) or inner.startswith(outer + "/")


def conflict(left: Iterable[str], right: Iterable[str]) -> bool:
    """True when any prefix of one side contains one of the other; symmetric."""
    others = tuple(right)
    return any(contains(a, b) or contains(b, a) for a in left for b in others)
