"""Brings a folder to a manifest, through the one writer and under its lock.

Replaced and removed is only what this program wrote; where somebody changed such a file, the changed text is set aside
first. A file that was never ours is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import UUID

from tikitaka.landing.blocks import BlocksRefused, find_blocks, remove_block
from tikitaka.landing.files import INSTRUCTIONS_FILE, OVERRIDE_FILE
from tikitaka.sync.manifest import File, Manifest
from tikitaka.sync.state import State, StateFault, load, save
from tikitaka.text import digest
from tikitaka.workspace import Workspace, WorkspaceFault, open_workspace

OVERRIDDEN = "override_file"
NOT_OURS = "not_ours"
CHANGED = "file_changed"
_ASIDE_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What lies at a path: its digest, or the fault for which it has none."""

    digest: str
    fault: str = ""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """`held` is what lies at the manifest's paths now; `changed` says that somebody changed files of ours."""

    held: dict[str, Held] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: bool = False


def bring(folder: Path, agent: UUID, manifest: Manifest, *, replace: bool) -> Outcome:
    """Writes and removes what has to be; with `replace` also what somebody changed. WorkspaceFault, StateFault."""
    with open_workspace(folder) as workspace:
        with suppress(WorkspaceFault):
            workspace.clear_temporaries()
        work = _Work(workspace, folder, load(folder, agent), replace=replace)
        wanted = {file.path for file in manifest.files} | manifest.kept
        for path in [path for path in work.state.written if path not in wanted]:
            work.attempt(path, partial(work.remove, path))
        for file in manifest.files:
            work.attempt(file.path, partial(work.write, file))
        if workspace.has(OVERRIDE_FILE) and any(file.path == INSTRUCTIONS_FILE for file in manifest.files):
            work.fault(INSTRUCTIONS_FILE, OVERRIDDEN)
        return work.outcome


class _Work:
    """One pass over an open folder."""

    def __init__(self, workspace: Workspace, folder: Path, state: State, *, replace: bool) -> None:
        self.state = state
        self.outcome = Outcome()
        self._workspace = workspace
        self._folder = folder
        self._replace = replace

    def attempt(self, path: str, step: Callable[[], None]) -> None:
        """One file that cannot be worked on stops no other."""
        try:
            step()
        except WorkspaceFault as fault:
            self.fault(path, fault.reason.value)

    def fault(self, path: str, reason: str) -> None:
        self.outcome.held[path] = Held(digest="", fault=reason)
        self.outcome.faults[path] = reason

    def write(self, file: File) -> None:
        present = self._workspace.read(file.path)
        if present == file.content:
            if self.state.written.get(file.path) != [file.digest]:
                self._keep(file.path, [file.digest])
            self.outcome.held[file.path] = Held(digest=file.digest)
        elif present is None or self.state.wrote(file.path, digest(present)):
            self._put(file, present)
        elif not file.ours or file.path not in self.state.written:
            self._leave(file.path, present, NOT_OURS)
        elif not self._replace:
            self.outcome.changed = True
            self._leave(file.path, present, CHANGED)
        else:
            _set_aside(self._folder, file.path, present)
            self._put(file, present)

    def remove(self, path: str) -> None:
        """What leaves a manifest holds notes of ours. What holds none is no file of ours, whatever the state says."""
        present = self._workspace.read(path)
        if present is not None:
            changed = not self.state.wrote(path, digest(present))
            if changed and not self._replace:
                self.outcome.changed = True
                self._leave(path, present, CHANGED)
                return
            if changed or not _holds_notes(present):
                _set_aside(self._folder, path, present)
            self._workspace.remove(path, expected=present)
            self.outcome.removed.append(path)
        self._keep(path, [])

    def _put(self, file: File, present: str | None) -> None:
        self.state.intend(file.path, file.digest)
        save(self._folder, self.state)
        self._workspace.write(file.path, file.content, expected=present)
        self._keep(file.path, [file.digest])
        self.outcome.written.append(file.path)
        self.outcome.held[file.path] = Held(digest=file.digest)

    def _leave(self, path: str, present: str, reason: str) -> None:
        self.outcome.held[path] = Held(digest=digest(present))
        self.outcome.faults[path] = reason

    def _keep(self, path: str, digests: list[str]) -> None:
        self.state.written.pop(path, None)
        if digests:
            self.state.written[path] = digests
        save(self._folder, self.state)


def aside_folder(folder: Path) -> Path:
    """Where changed texts are kept, out of the sight of the agent's program; at most fifty."""
    return folder.parent / f".{folder.name}.tikitaka-aside"


def _set_aside(folder: Path, path: str, text: str) -> None:
    """Nobody's work is lost, and what was taken back is not kept: our blocks are taken out of the copy."""
    place = aside_folder(folder)
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StateFault(f"{place.name} cannot be made: {error.strerror}") from error
    try:
        if len(os.listdir(handle)) < _ASIDE_MAX:
            _write_copy(handle, f"{digest(text)[:16]}-{path.replace('/', '-').lstrip('.')}", _without_blocks(text))
    except OSError as error:
        raise StateFault(f"{place.name} cannot be written: {error.strerror}") from error
    finally:
        os.close(handle)


def _write_copy(place: int, name: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError), os.fdopen(os.open(name, flags, 0o600, dir_fd=place), "wb") as copy:
        copy.write(text.encode())


def _holds_notes(text: str) -> bool:
    blocks = find_blocks(text)
    return not isinstance(blocks, BlocksRefused) and bool(blocks)


def _without_blocks(text: str) -> str:
    blocks = find_blocks(text)
    if isinstance(blocks, BlocksRefused):
        return text
    for block in blocks:
        less = remove_block(text, block.note)
        text = text if isinstance(less, BlocksRefused) else less
    return text
