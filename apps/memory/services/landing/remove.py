"""Taking blocks out again: what must go is found by a query, whoever died in between."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from apps.ledger import clock
from apps.ledger.services import Recorder, recording
from apps.memory.models import FileKind, Landing, LandingStatus
from apps.memory.selectors import LIVE_LANDINGS, file_landings
from apps.memory.services.landing.record import file_kind, is_ours, own_file_text, save_file_record
from apps.memory.services.landing.skills import keep_catalogue
from apps.tasks.services.attempts import close_threads
from apps.teams.models import Agent
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.landing.blocks import BlocksRefused, find_blocks, remove_block
from tikitaka.ledger.events import LandingFailed, LandingRemoved
from tikitaka.policy import Policy
from tikitaka.workspace import Workspace, WorkspaceFault, open_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalStuck:
    """The block could not be taken out; it is tried again, and a person must look."""

    landing: UUID
    agent: UUID
    file: str
    reason: str


def request_removal(*, landings: Collection[UUID]) -> None:
    """Marks live landings as to be removed; call inside the transaction that decides it."""
    Landing.objects.filter(pk__in=landings, status__in=LIVE_LANDINGS, remove_requested_at__isnull=True).update(
        remove_requested_at=clock.now()
    )


def remove_landing(*, landing: UUID, policy: Policy) -> RemovalStuck | None:
    """Takes the block of a landing whose removal was requested out of its file, and records that it is gone.

    A workspace that is not there proves nothing: it may be mounted again with the block in it. Refused where it lies on
    another host.
    """
    row = Landing.objects.select_related("note", "agent").filter(pk=landing, status__in=LIVE_LANDINGS).first()
    if row is None:
        return None
    try:
        with open_workspace(workspace_folder(workspace_of(row.agent_id))) as workspace:
            present = workspace.read(row.file)
            kind = file_kind(row.agent, row.file, present, policy=policy)
            text, refused = _without(row, row.agent, kind, present, policy=policy)
            if refused is not None:
                return RemovalStuck(landing=row.pk, agent=row.agent_id, file=row.file, reason=refused)
            _apply(workspace, row.file, present, text)
            _record(row, kind, text)
    except WorkspaceFault as fault:
        return RemovalStuck(landing=row.pk, agent=row.agent_id, file=row.file, reason=fault.reason.value)
    keep_catalogue(agent=row.agent_id)
    return None


def _without(
    landing: Landing, agent: Agent, kind: FileKind, present: str | None, *, policy: Policy
) -> tuple[str | None, str | None]:
    """The file without the block, and why that cannot be had.

    A file of ours is rendered anew whatever an agent did to it, moved it aside included: revoking must not depend on
    the agent's good will, and a file that comes back later must be seen to differ.
    """
    if kind is FileKind.FOREIGN_SKILL:
        if present is None:
            return None, None
        text = remove_block(present, landing.note_id)
        return (None, text.reason.value) if isinstance(text, BlocksRefused) else (text, None)
    never_written = landing.fault and str(landing.note_id) not in (present or "")
    if never_written and not is_ours(present, agent, landing.file, policy=policy):
        return present, None  # the file is somebody's work: leave it
    others = [item for item in file_landings(agent.pk, landing.file) if item.pk != landing.pk]
    return own_file_text(agent, landing.file, others, policy=policy), None


def _apply(workspace: Workspace, file: str, present: str | None, text: str | None) -> None:
    if text is not None and text != present:
        workspace.write(file, text, expected=present)
    elif text is None and present is not None:
        workspace.remove(file, expected=present)


def _record(landing: Landing, kind: FileKind, text: str | None) -> None:
    with recording(landing.organization_id) as ledger:
        ours_left = bool(text) and (kind is not FileKind.FOREIGN_SKILL or _holds_blocks(text or ""))
        save_file_record(landing.agent, landing.file, kind, text if ours_left else None)
        close_threads([landing.agent_id])
        if landing.fault and fail_landing(landing, landing.fault, ledger):
            return
        changed = Landing.objects.filter(pk=landing.pk, status__in=LIVE_LANDINGS).update(
            status=LandingStatus.REMOVED, removed_at=clock.now()
        )
        if changed:
            ledger.record(
                LandingRemoved(
                    landing=landing.pk,
                    team=landing.note.team_id,
                    note=landing.note_id,
                    agent=landing.agent_id,
                    file=landing.file,
                )
            )


def fail_landing(landing: Landing, reason: str, ledger: Recorder) -> bool:
    """Ends an intended landing as failed, once nothing of it lies in its file; False when it was not intended."""
    intended = Landing.objects.filter(pk=landing.pk, status=LandingStatus.INTENDED)
    if not intended.update(status=LandingStatus.FAILED, fault=reason):
        return False
    ledger.record(
        LandingFailed(
            landing=landing.pk,
            team=landing.note.team_id,
            note=landing.note_id,
            agent=landing.agent_id,
            reason=reason,
        )
    )
    return True


def _holds_blocks(text: str) -> bool:
    blocks = find_blocks(text)
    return isinstance(blocks, BlocksRefused) or bool(blocks)
