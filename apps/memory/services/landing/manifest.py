"""What an agent's own machine should hold: the governed files of its workspace here, as they lie on disk.

All or none covers what is published: a block of a note that is not active for everybody is not in a manifest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from apps.ledger import clock
from apps.memory.models import FileKind, GovernedFile, Landing
from apps.memory.selectors import LIVE_LANDINGS
from apps.memory.services.landing.record import is_ours, own_file_text
from apps.teams.models import Agent
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.errors import WrongState
from tikitaka.landing.drift import block_fault
from tikitaka.landing.files import read_skill_head
from tikitaka.policy import Policy
from tikitaka.text import digest
from tikitaka.workspace import Workspace, WorkspaceFault, open_workspace

FILES_MAX = 501  # the skills that a workspace may have, and the instructions
_FILE_BYTES_MAX = 1024 * 1024
_BYTES_MAX = 4 * 1024 * 1024


class NotRemote(WrongState):
    """The agent works in its folder here; nothing is delivered elsewhere."""

    code = "workspace_not_remote"


class Unreadable(WrongState):
    """The agent's folder here cannot be read at the moment."""

    code = "workspace_unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFile:
    """A governed file, whole. `digest` is the SHA-256 of its bytes in UTF-8."""

    path: str
    digest: str
    content: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A governed file that is not given out; whoever holds an earlier state of it keeps that."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The governed files of one agent, by path, and those that are not given out with the reason."""

    files: tuple[ManifestFile, ...]
    refused: tuple[Refused, ...]
    read_at: datetime

    @property
    def version(self) -> str:
        """Names the whole: SHA-256 over the paths, kinds and digests, and over what was refused and why."""
        parts = [[file.path, file.kind, file.digest] for file in self.files]
        refused = [[file.path, file.reason] for file in self.refused]
        whole = json.dumps([parts, refused], separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(whole.encode()).hexdigest()


def manifest_of(*, agent: UUID, policy: Policy) -> Manifest:
    """The manifest of a remote agent, read under the workspace's lock; NotRemote for one that works here."""
    row = workspace_of(agent)
    if not row.is_remote:
        raise NotRemote
    try:
        with open_workspace(workspace_folder(row)) as workspace:
            read_at = clock.now()
            governed = list(GovernedFile.objects.filter(agent_id=agent).order_by("file"))
            live = Landing.objects.filter(agent_id=agent, status__in=LIVE_LANDINGS).select_related("note")
            landings = list(live.order_by("intended_at", "id"))
            files, refused = _read(workspace, row.agent, governed, landings, policy)
            return Manifest(files=files, refused=refused, read_at=read_at)
    except WorkspaceFault as fault:
        raise Unreadable(f"the agent's folder cannot be read: {fault.reason.value}") from fault


def publication(agent: UUID) -> tuple[object, ...]:
    """Changes whenever the manifest does, short of what a person writes here; asked often, so it opens no file."""
    governed = GovernedFile.objects.filter(agent_id=agent).order_by("file").values_list("file", "digest", "written_at")
    hidden = _unpublished(agent).order_by("pk").values_list("pk", flat=True)
    return (*governed, *hidden)


def _unpublished(agent: UUID) -> QuerySet[Landing]:
    return Landing.objects.filter(agent_id=agent, status__in=LIVE_LANDINGS, note__activated_at__isnull=True)


def _read(
    workspace: Workspace, agent: Agent, governed: Sequence[GovernedFile], landings: Sequence[Landing], policy: Policy
) -> tuple[tuple[ManifestFile, ...], tuple[Refused, ...]]:
    files: list[ManifestFile] = []
    refused: list[Refused] = []
    size = 0
    for row in governed:
        mine = [landing for landing in landings if landing.file == row.file]
        text, reason = _text(workspace, agent, row, mine, policy)
        size += len(text.encode()) if text is not None else 0
        if reason is None and (size > _BYTES_MAX or len(files) >= FILES_MAX):
            reason = "manifest_too_large"
        if reason is not None:
            refused.append(Refused(path=row.file, reason=reason))
        elif text is not None:
            files.append(ManifestFile(path=row.file, digest=digest(text), content=text, kind=row.kind))
    return tuple(files), tuple(refused)


def _text(
    workspace: Workspace, agent: Agent, row: GovernedFile, landings: Sequence[Landing], policy: Policy
) -> tuple[str | None, str | None]:
    """The text to give out, or why none is; neither where nothing of the file may be seen yet."""
    try:
        text = workspace.read(row.file, limit=_FILE_BYTES_MAX)
    except WorkspaceFault as fault:
        return None, fault.reason.value
    if text is None:
        return None, "file_absent"
    hidden = [item for item in landings if item.note.activated_at is None and str(item.note_id) in text]
    if row.kind == FileKind.FOREIGN_SKILL:
        return (None, "landing_in_progress") if hidden else (text, _foreign_fault(text, landings))
    if not is_ours(text, agent, row.file, policy=policy):
        return None, "file_changed"
    if not hidden:
        return text, None
    shown = [item for item in landings if item.note.activated_at is not None]
    return own_file_text(agent, row.file, shown, policy=policy), None


def _foreign_fault(text: str, landings: Sequence[Landing]) -> str | None:
    """Around our blocks a person may write what they like; the blocks must be those of the record."""
    if read_skill_head(text) is None:
        return "unreadable_skill"
    faults = (block_fault(text, landing.note_id, landing.block_digest) for landing in landings if landing.landed_at)
    return next((fault.value for fault in faults if fault is not None), None)
