"""The one writer of governed files. No link is followed, no path but two shapes is accepted, no file is ever half.

A workspace belongs to a hostile program: every step goes through directory handles opened without following links,
so that nothing that is swapped in meanwhile can lead elsewhere.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path

from tikitaka.errors import TikiTakaError
from tikitaka.landing.files import INSTRUCTIONS_FILE, SKILLS_FOLDER
from tikitaka.landing.keys import is_skill_key

_SKILL_PATH = re.compile(rf"{re.escape(SKILLS_FOLDER)}/([^/]+)/SKILL\.md\Z")
_TEMPORARY = ".tikitaka-"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_FILE = 4 * 1024 * 1024
_MAX_SKILLS = 500
_MAX_SKILL = 256 * 1024
_LOCK_WAIT_S = 3.0
_LOCK_LOOK_S = 0.02


class FileFault(StrEnum):
    """Why a path in a workspace was refused."""

    NOT_GOVERNED = "not_governed"
    LINK = "link"
    HARD_LINK = "hard_link"
    NOT_A_FILE = "not_a_file"
    TOO_LARGE = "file_too_large"
    NOT_TEXT = "not_text"
    NO_WORKSPACE = "no_workspace"
    READ_ONLY = "workspace_read_only"
    NO_SPACE = "no_space"
    CHANGED_MEANWHILE = "changed_meanwhile"
    NOT_READ_BACK = "not_read_back"
    IO_ERROR = "io_error"
    BUSY = "workspace_busy"
    TOO_MANY = "too_many_skills"


class WorkspaceFault(TikiTakaError):
    """The workspace is not what it should be."""

    code = "workspace_fault"

    def __init__(self, reason: FileFault) -> None:
        self.reason = reason
        super().__init__(reason.value)


class Workspace:
    """One agent's workspace, locked against other writers while it is open."""

    def __init__(self, root: int) -> None:
        self._root = root

    def read(self, path: str, *, limit: int = _MAX_FILE) -> str | None:
        """The text of a governed file, None when there is none; raises WorkspaceFault for anything but a plain file."""
        with _faults(), ExitStack() as stack:
            try:
                folder, name = self._folder(path, stack, make=False)
                handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError:
                return None
            stack.callback(os.close, handle)
            return _decode(_plain_content(handle, limit))

    def write(self, path: str, text: str, *, expected: str | None) -> None:
        """Replaces the file in one step and reads it back; `expected` is what must be there now, None for nothing."""
        with _faults(), ExitStack() as stack:
            folder, name = self._folder(path, stack, make=True)
            if self.read(path) != expected:
                raise WorkspaceFault(FileFault.CHANGED_MEANWHILE)
            temporary = f"{_TEMPORARY}{secrets.token_hex(8)}"
            try:
                _write_new(folder, temporary, text.encode())
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                _unlink_quietly(temporary, folder)
                raise
            os.fsync(folder)
            if self.read(path) != text:
                raise WorkspaceFault(FileFault.NOT_READ_BACK)

    def remove(self, path: str, *, expected: str) -> None:
        """Removes the file, and a skill's folder when nothing else lies in it."""
        with _faults(), ExitStack() as stack:
            folder, name = self._folder(path, stack, make=False)
            if self.read(path) != expected:
                raise WorkspaceFault(FileFault.CHANGED_MEANWHILE)
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)
            match = _SKILL_PATH.match(path)
            if match:
                self._remove_skill_folder(match.group(1), folder)

    def skills(self) -> dict[str, str | None]:
        """The text of every skill of this workspace by its key; None for one that is no plain text file or too large.

        Raises WorkspaceFault when there are too many to hold: an agent can make as many as it likes.
        """
        found: dict[str, str | None] = {}
        size = 0
        with _faults(), ExitStack() as stack:
            folder = self._root
            try:
                for part in SKILLS_FOLDER.split("/"):
                    folder = _open_folder(part, folder, stack)
            except FileNotFoundError:
                return {}
            keys = sorted(filter(is_skill_key, os.listdir(folder)))
            if len(keys) > _MAX_SKILLS:
                raise WorkspaceFault(FileFault.TOO_MANY)
            for key in keys:
                found |= self._skill(key)
                size += len(found.get(key) or "")
                if size > _MAX_FILE:
                    raise WorkspaceFault(FileFault.TOO_MANY)
        return found

    def has(self, name: str) -> bool:
        """True when anything of that name, link or not, lies directly in the workspace."""
        try:
            os.stat(name, dir_fd=self._root, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def clear_temporaries(self) -> None:
        """Removes what a writer that was killed left beside its target."""
        with _faults(), ExitStack() as stack:
            folders = [self._root]
            try:
                inner = self._root
                for part in SKILLS_FOLDER.split("/"):
                    inner = _open_folder(part, inner, stack)
                folders += [_open_folder(key, inner, stack) for key in os.listdir(inner) if is_skill_key(key)]
            except (FileNotFoundError, WorkspaceFault):
                pass
            for folder in folders:
                for name in os.listdir(folder):
                    if name.startswith(_TEMPORARY):
                        _unlink_quietly(name, folder)

    def _skill(self, key: str) -> dict[str, str | None]:
        try:
            text = self.read(f"{SKILLS_FOLDER}/{key}/SKILL.md", limit=_MAX_SKILL)
        except WorkspaceFault:
            return {key: None}
        return {} if text is None else {key: text}

    def _folder(self, path: str, stack: ExitStack, *, make: bool) -> tuple[int, str]:
        """The handle of the folder of a governed path, and the file's name in it."""
        if path == INSTRUCTIONS_FILE:
            return self._root, path
        match = _SKILL_PATH.match(path)
        if match is None or not is_skill_key(match.group(1)):
            raise WorkspaceFault(FileFault.NOT_GOVERNED)
        folder = self._root
        for part in path.split("/")[:-1]:
            if make:
                _make_folder(part, folder)
            folder = _open_folder(part, folder, stack)
        return folder, "SKILL.md"

    def _remove_skill_folder(self, key: str, folder: int) -> None:
        for name in os.listdir(folder):
            if name.startswith(_TEMPORARY):
                _unlink_quietly(name, folder)
        with ExitStack() as stack:
            outer = self._root
            for part in SKILLS_FOLDER.split("/"):
                outer = _open_folder(part, outer, stack)
            try:
                os.rmdir(key, dir_fd=outer)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise


@contextmanager
def open_workspace(folder: Path) -> Iterator[Workspace]:
    """Opens a workspace under its own lock, which lies beside it where its agent does not write."""
    with _faults(), ExitStack() as stack:
        lock = os.open(folder.parent / "landing.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, lock)
        _lock(lock)
        root = os.open(folder, _DIRECTORY)
        stack.callback(os.close, root)
        yield Workspace(root)


def _lock(handle: int) -> None:
    """Waits a little and no longer: the lock's file belongs to the user who runs the agent, who may hold it."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise WorkspaceFault(FileFault.BUSY) from None
            time.sleep(_LOCK_LOOK_S)
        else:
            return


@contextmanager
def _faults() -> Iterator[None]:
    """Errors of the operating system as named faults."""
    try:
        yield
    except OSError as error:
        raise WorkspaceFault(_FAULTS.get(error.errno or 0, FileFault.IO_ERROR)) from error


_FAULTS = {
    errno.ELOOP: FileFault.LINK,
    errno.ENOTDIR: FileFault.LINK,
    errno.ENOENT: FileFault.NO_WORKSPACE,
    errno.EROFS: FileFault.READ_ONLY,
    errno.EACCES: FileFault.READ_ONLY,
    errno.EPERM: FileFault.READ_ONLY,
    errno.ENOSPC: FileFault.NO_SPACE,
    errno.EDQUOT: FileFault.NO_SPACE,
    errno.EISDIR: FileFault.NOT_A_FILE,
    errno.ENXIO: FileFault.NOT_A_FILE,
}


def _open_folder(name: str, parent: int, stack: ExitStack) -> int:
    handle = os.open(name, _DIRECTORY, dir_fd=parent)
    stack.callback(os.close, handle)
    return handle


def _make_folder(name: str, parent: int) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)


def _plain_content(handle: int, limit: int) -> bytes:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        raise WorkspaceFault(FileFault.NOT_A_FILE)
    if state.st_nlink != 1:
        raise WorkspaceFault(FileFault.HARD_LINK)
    if state.st_size > limit:
        raise WorkspaceFault(FileFault.TOO_LARGE)
    data = bytearray()
    while chunk := os.read(handle, 1 << 16):
        data += chunk
        if len(data) > limit:
            raise WorkspaceFault(FileFault.TOO_LARGE)
    return bytes(data)


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WorkspaceFault(FileFault.NOT_TEXT) from error


def _write_new(folder: int, name: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, 0o644, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _unlink_quietly(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return
