"""Disk against record: what an agent really has, what has drifted, which unknown skills lie there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.ledger import clock
from apps.ledger.services import recording
from apps.memory.models import FileKind, GovernedFile, Landing, LandingStatus
from apps.memory.selectors import Held, file_landings, held_landings
from apps.memory.services.landing.confirm import confirmed_digests
from apps.memory.services.landing.record import is_ours, own_file_text, save_file_record
from apps.memory.services.landing.skills import keep_catalogue
from apps.teams.models import Agent
from apps.teams.models import Workspace as WorkspaceRow
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.landing.drift import block_fault
from tikitaka.landing.files import INSTRUCTIONS_FILE, OVERRIDE_FILE, read_skill_head, skill_file
from tikitaka.ledger.events import LandingDrifted
from tikitaka.policy import Policy
from tikitaka.text import digest
from tikitaka.workspace import FileFault, Workspace, WorkspaceFault, open_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """A governed file that is not what the record says."""

    agent: UUID
    file: str
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownSkill:
    """A skill that the record does not know; the digest names its present text."""

    agent: UUID
    key: str
    digest: str


def available_notes(*, agent: UUID) -> tuple[list[UUID], list[Drifted]]:
    """The notes whose very block lies in the agent's file now, and what has drifted since it was landed."""
    return in_place(agent=agent, landings=held_landings(agent))


def in_place(*, agent: UUID, landings: Sequence[Held]) -> tuple[list[UUID], list[Drifted]]:
    """Of what the record says that the agent holds, the notes that lie there now, and what has drifted.

    The disk is the state: a note counts as available only if its block is there, whatever the database says. Where the
    agent works on another machine, that machine must have confirmed this very file too, and not too long ago.
    """
    if not landings:
        return [], []
    row = workspace_of(agent)
    faults, texts = _look(row, landings)
    drifted = _mark(landings, faults, remote=row.is_remote)
    held = [item for item in landings if faults[item.landing] is None]
    if row.is_remote:
        there = confirmed_digests(agent)
        held = [item for item in held if there.get(item.file) == digest(texts[item.file])]
    return [item.note for item in held], drifted


def reconcile_agent(*, agent: UUID, policy: Policy) -> list[Drifted]:
    """Compares every governed file of the agent with the record: blocks, and the text around them in files of ours."""
    _, drifted = available_notes(agent=agent)
    row = Agent.objects.get(pk=agent)
    seen = {item.file for item in drifted}
    try:
        with open_workspace(workspace_folder(workspace_of(agent))) as workspace:
            workspace.clear_temporaries()
            for file in GovernedFile.objects.filter(agent_id=agent).exclude(kind=FileKind.FOREIGN_SKILL):
                fault = _file_fault(workspace, row, file.file, policy=policy)
                if fault is not None and file.file not in seen:
                    drifted.append(Drifted(agent=agent, file=file.file, fault=fault))
            if workspace.has(OVERRIDE_FILE):
                drifted.append(Drifted(agent=agent, file=OVERRIDE_FILE, fault="override_file"))
    except WorkspaceFault as fault:
        drifted.append(Drifted(agent=agent, file="", fault=fault.reason.value))
    keep_catalogue(agent=agent)
    return drifted


def unknown_skills(*, agent: UUID) -> list[UnknownSkill]:
    """Skills in the agent's workspace that nobody landed: a person's, or planted by a program that can write there."""
    known = set(GovernedFile.objects.filter(agent_id=agent).values_list("file", flat=True))
    try:
        with open_workspace(workspace_folder(workspace_of(agent))) as workspace:
            found = workspace.skills()
    except WorkspaceFault as fault:
        many = fault.reason is FileFault.TOO_MANY
        return [UnknownSkill(agent=agent, key="*", digest=fault.reason.value)] if many else []
    return [
        UnknownSkill(agent=agent, key=key, digest=digest(text or ""))
        for key, text in found.items()
        if skill_file(key) not in known
    ]


def restore_agent(*, agent: UUID, policy: Policy) -> list[str]:
    """Writes the files that are wholly ours anew from the record, whatever lies there; which ones were changed.

    What stands in the way of one workspace stops no other: reconciling reports it.
    """
    row = Agent.objects.get(pk=agent)
    restored: list[str] = []
    try:
        with open_workspace(workspace_folder(workspace_of(agent))) as workspace:
            files = GovernedFile.objects.filter(agent_id=agent).exclude(kind=FileKind.FOREIGN_SKILL)
            restored.extend(item.file for item in files if _restore(workspace, row, item, policy=policy))
    except WorkspaceFault:
        return restored
    return restored


def _restore(workspace: Workspace, agent: Agent, governed: GovernedFile, *, policy: Policy) -> bool:
    wanted = own_file_text(agent, governed.file, list(file_landings(agent.pk, governed.file)), policy=policy)
    present, fault = _read(workspace, governed.file)
    if fault is not None or wanted is None or present == wanted:
        return False
    workspace.write(governed.file, wanted, expected=present)
    save_file_record(agent, governed.file, FileKind(governed.kind), wanted)
    return True


def _look(row: WorkspaceRow, landings: Sequence[Held]) -> tuple[dict[UUID, str | None], dict[str, str]]:
    """What is wrong with each landing, and the text of each file as it lies here."""
    try:
        with open_workspace(workspace_folder(row)) as workspace:
            texts = {file: _read(workspace, file) for file in {item.file for item in landings}}
            hidden = workspace.has(OVERRIDE_FILE)
    except WorkspaceFault as fault:
        return {item.landing: fault.reason.value for item in landings}, {}
    found: dict[UUID, str | None] = {}
    for item in landings:
        text, fault_name = texts[item.file]
        block = block_fault(text, item.note, item.block_digest)
        fault_name = fault_name or (block.value if block else None)
        if item.file == INSTRUCTIONS_FILE and hidden:
            fault_name = "override_file"
        elif item.file != INSTRUCTIONS_FILE and fault_name is None and read_skill_head(text or "") is None:
            fault_name = "unreadable_skill"
        found[item.landing] = fault_name
    return found, {file: text or "" for file, (text, _) in texts.items()}


def _mark(landings: Sequence[Held], faults: dict[UUID, str | None], *, remote: bool) -> list[Drifted]:
    """Landed becomes drifted and back, as the disk says; a fault that was known before is not reported again."""
    now = clock.now()
    drifted = []
    whole = [item.landing for item in landings if faults[item.landing] is None and item.status == LandingStatus.DRIFTED]
    if whole:
        again = Landing.objects.filter(pk__in=whole, status=LandingStatus.DRIFTED)
        confirmed_at = None if remote else now  # only the agent's own machine can say what lies there
        again.update(status=LandingStatus.LANDED, fault="", confirmed_at=confirmed_at)
    for item in landings:
        fault = faults[item.landing]
        if fault is None:
            continue
        drifted.append(Drifted(agent=item.agent, file=item.file, fault=fault))
        with recording(item.organization) as ledger:
            if Landing.objects.filter(pk=item.landing, status=LandingStatus.LANDED).update(
                status=LandingStatus.DRIFTED, fault=fault
            ):
                ledger.record(
                    LandingDrifted(
                        landing=item.landing,
                        team=item.team,
                        note=item.note,
                        agent=item.agent,
                        fault=fault,
                    )
                )
    return drifted


def _read(workspace: Workspace, file: str) -> tuple[str | None, str | None]:
    try:
        return workspace.read(file), None
    except WorkspaceFault as fault:
        return None, fault.reason.value


def _file_fault(workspace: Workspace, agent: Agent, file: str, *, policy: Policy) -> str | None:
    text, fault = _read(workspace, file)
    if fault is not None:
        return fault
    return None if is_ours(text, agent, file, policy=policy) else "file_changed"
