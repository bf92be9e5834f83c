"""What this program wrote into a folder: kept beside it, where the agent does not work.

The file says of which digests a path was ours; whatever else it says, nothing is removed that has another digest.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tikitaka.errors import TikiTakaError
from tikitaka.sync.manifest import is_governed

_BYTES_MAX = 1024 * 1024
_DIGESTS_MAX = 4


class StateFault(TikiTakaError):
    """The file of what was written here cannot be used."""

    code = "state_fault"


@dataclass(slots=True, kw_only=True)
class State:
    """`written`: for each path the digests that it may have by us, the newest last; two while a write is under way."""

    agent: UUID
    written: dict[str, list[str]] = field(default_factory=dict)

    def wrote(self, path: str, digest: str | None) -> bool:
        """True when we wrote that very text there."""
        return digest is not None and digest in self.written.get(path, ())

    def intend(self, path: str, digest: str) -> None:
        """To be saved before the write: whoever is killed in between still knows both texts."""
        before = [item for item in self.written.get(path, []) if item != digest]
        self.written[path] = [*before, digest][-_DIGESTS_MAX:]


class WrongFolder(StateFault):
    """The folder is kept for another agent."""

    code = "wrong_folder"


def state_file(folder: Path) -> Path:
    """Beside the folder."""
    return folder.parent / f".{folder.name}.tikitaka-sync.json"


def load(folder: Path, agent: UUID) -> State:
    """What was written there before; StateFault where the folder is another agent's, or the file is no plain one."""
    raw = _read(state_file(folder))
    if raw is None:
        return State(agent=agent)
    try:
        kept = json.loads(raw)
        owner = UUID(kept["agent"])
        found = {path: _digests(digests) for path, digests in kept["written"].items() if is_governed(path)}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StateFault(
            f"{state_file(folder).name} cannot be read; look at it, and remove it to begin anew"
        ) from error
    if owner != agent:
        raise WrongFolder
    return State(agent=agent, written=found)


def save(folder: Path, state: State) -> None:
    """Replaces the file in one step."""
    target = state_file(folder)
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(8)}")
    text = json.dumps({"agent": str(state.agent), "written": state.written}, sort_keys=True)
    try:
        for left in target.parent.glob(f"{target.name}.*"):  # by somebody who was killed: we hold the folder's lock
            left.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(temporary, flags, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StateFault(f"{target.name} cannot be written: {error.strerror}") from error


def _read(path: Path) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            raw = file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateFault(f"{path.name} cannot be read: {error.strerror}") from error
    if len(raw) > _BYTES_MAX:
        raise StateFault(f"{path.name} is too large")
    return raw


def _digests(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("not a list of digests")
    return value[-_DIGESTS_MAX:]
