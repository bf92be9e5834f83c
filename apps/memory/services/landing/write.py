"""One block into one file, under the workspace's lock: check, write, read back, record."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from apps.ledger import clock
from apps.ledger.services import recording
from apps.memory.models import FileKind, Landing, LandingStatus
from apps.memory.selectors import file_landings
from apps.memory.services.landing.record import as_landed, file_kind, is_ours, own_file_text, save_file_record
from apps.tasks.services.attempts import close_threads
from apps.teams.hosts import teams_here
from apps.teams.models import Agent
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.landing.blocks import BlocksRefused, put_block
from tikitaka.landing.budgets import OverBudget, check_catalogue, check_instructions, check_skill
from tikitaka.landing.files import OVERRIDE_FILE, block_body, read_skill_head
from tikitaka.ledger.events import LandingCompleted
from tikitaka.policy import Policy
from tikitaka.review.states import NoteStatus
from tikitaka.text import digest
from tikitaka.workspace import FileFault, Workspace, WorkspaceFault, open_workspace

# Faults of the machine, which may pass; every other one needs a person.
TRANSIENT = frozenset(
    {
        FileFault.NO_WORKSPACE,
        FileFault.READ_ONLY,
        FileFault.NO_SPACE,
        FileFault.IO_ERROR,
        FileFault.CHANGED_MEANWHILE,
        FileFault.BUSY,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRefused:
    """Why a block could not be written; `touched` when the file may hold it all the same."""

    reason: str
    transient: bool
    touched: bool = False


def write_landing(landing: Landing, *, claim: int, policy: Policy) -> WriteRefused | None:
    """Puts the block of an intended landing on disk and records it as landed; None when that is so."""
    agent = Agent.objects.get(pk=landing.agent_id)
    touched = False
    try:
        row = workspace_of(agent.pk)
        with open_workspace(workspace_folder(row)) as workspace:
            if not _still_wanted(landing, claim):
                return WriteRefused(reason="decided_meanwhile", transient=True)
            present = workspace.read(landing.file)
            kind = file_kind(agent, landing.file, present, policy=policy)
            wanted = _wanted(landing, agent, kind, present, workspace, policy=policy)
            if isinstance(wanted, WriteRefused):
                return wanted
            if wanted != present:
                touched = True
                workspace.write(landing.file, wanted, expected=present)
            _record(landing, agent, kind, wanted, confirmed=not row.is_remote)
    except WorkspaceFault as fault:
        return WriteRefused(reason=fault.reason.value, transient=fault.reason in TRANSIENT, touched=touched)
    return None


def _still_wanted(landing: Landing, claim: int) -> bool:
    """Asked under the workspace's lock: whoever revokes from here on waits for the lock and finds what was written."""
    now = clock.now()
    alive = Q(note__expires_at__isnull=True) | Q(note__expires_at__gt=now)
    unpaused = Q(note__team__paused_at__isnull=True, note__organization__paused_at__isnull=True)
    return Landing.objects.filter(
        alive,
        unpaused,
        note__team__in=teams_here(),
        pk=landing.pk,
        status=LandingStatus.INTENDED,
        remove_requested_at__isnull=True,
        note__status=NoteStatus.APPROVED.value,
        note__landing_claim=claim,
    ).exists()


def _wanted(
    landing: Landing, agent: Agent, kind: FileKind, present: str | None, workspace: Workspace, *, policy: Policy
) -> str | WriteRefused:
    if kind is FileKind.FOREIGN_SKILL:
        wanted = _into_foreign(landing, present or "")
    else:
        if not is_ours(present, agent, landing.file, policy=policy):
            return WriteRefused(reason="file_changed", transient=False)
        others = [item for item in file_landings(agent.pk, landing.file) if item.pk != landing.pk]
        text = own_file_text(agent, landing.file, [*others, landing], policy=policy)
        wanted = text if text is not None else WriteRefused(reason="empty_file", transient=False)
    if isinstance(wanted, WriteRefused):
        return wanted
    return _over_budget(landing, wanted, kind, workspace, policy=policy) or wanted


def _into_foreign(landing: Landing, present: str) -> str | WriteRefused:
    """Only our block changes in a person's skill, and its head must read as before."""
    head = read_skill_head(present)
    if head is None:
        return WriteRefused(reason="unreadable_skill", transient=False)
    wanted = put_block(present, landing.note_id, block_body(as_landed(landing)))
    if isinstance(wanted, BlocksRefused):
        return WriteRefused(reason=wanted.reason.value, transient=False)
    if read_skill_head(wanted) != head:
        return WriteRefused(reason="unreadable_skill", transient=False)
    return wanted


def _over_budget(
    landing: Landing, wanted: str, kind: FileKind, workspace: Workspace, *, policy: Policy
) -> WriteRefused | None:
    if kind is FileKind.INSTRUCTIONS:
        if workspace.has(OVERRIDE_FILE):
            return WriteRefused(reason="override_file", transient=False)
        return _refused(check_instructions(wanted, policy=policy))
    head = read_skill_head(wanted)
    if head is None:
        return WriteRefused(reason="unreadable_skill", transient=False)
    fault = check_skill(wanted, head.description, policy=policy)
    if fault is not None:
        return _refused(fault)
    catalogue = {
        key: other.description for key, text in workspace.skills().items() if (other := read_skill_head(text or ""))
    }
    catalogue[landing.file.split("/")[-2]] = head.description
    return _refused(check_catalogue(catalogue, policy=policy))


def _refused(fault: OverBudget | None) -> WriteRefused | None:
    return WriteRefused(reason=fault.reason.value, transient=False) if fault else None


def _record(landing: Landing, agent: Agent, kind: FileKind, text: str, *, confirmed: bool) -> None:
    """`confirmed` is false where only the agent's own machine can say that the file is there."""
    now = clock.now()
    with recording(landing.organization_id) as ledger:
        save_file_record(agent, landing.file, kind, text)
        close_threads([agent.pk])
        changed = Landing.objects.filter(pk=landing.pk, status=LandingStatus.INTENDED).update(
            status=LandingStatus.LANDED, kind=kind, landed_at=now, confirmed_at=now if confirmed else None, fault=""
        )
        if changed:
            ledger.record(
                LandingCompleted(
                    landing=landing.pk,
                    team=agent.team_id,
                    note=landing.note_id,
                    agent=agent.pk,
                    file=landing.file,
                    block_digest=landing.block_digest,
                    file_digest=digest(text),
                )
            )
