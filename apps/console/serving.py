"""Which data folder is being served: a lock that the serving process holds and that dies with it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = "serving.lock"


@contextmanager
def serving(folder: Path) -> Iterator[bool]:
    """Holds the folder's lock; yields False when another process serves it already."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _try(handle)
    finally:
        os.close(handle)


def served_here(folder: Path) -> bool:
    """True while a process serves the folder."""
    if not (folder / _LOCK).exists():
        return False
    with serving(folder) as free:
        return not free


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
