"""The instructions file of an agent, written when the agent is registered or its instructions change.

Until that is done it can be found by a query, and whoever sees the workspace does it.
"""

from __future__ import annotations

from uuid import UUID

from apps.ledger.services import recording
from apps.memory.models import FileKind
from apps.memory.selectors import file_landings
from apps.memory.services.landing.record import is_ours, own_file_text, save_file_record
from apps.memory.services.landing.skills import keep_catalogue
from apps.memory.services.landing.write import TRANSIENT
from apps.teams.models import Agent
from apps.teams.models import Workspace as WorkspaceRow
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.errors import Invalid
from tikitaka.landing.budgets import BudgetFault, check_instructions
from tikitaka.landing.files import INSTRUCTIONS_FILE
from tikitaka.policy import Policy
from tikitaka.workspace import Workspace, WorkspaceFault, open_workspace


def require_fitting(*, agent: Agent, policy: Policy) -> None:
    """Refuses instructions that leave no room for the notes which the file holds by the record."""
    if _text(agent, policy) is None:
        raise Invalid(instructions="together with the governed notes they do not fit into the instructions file")


def render_agent_instructions(*, agent: UUID, policy: Policy) -> str | None:
    """Writes the file from stored instructions and the blocks of the record; returns the fault, if any.

    A file that somebody else changed is left alone; reconciling shows it as drift. A fault that may pass leaves the
    file to be found again.
    """
    row = workspace_of(agent)
    try:
        with open_workspace(workspace_folder(row)) as workspace:
            profile = Agent.objects.get(pk=agent)  # under the workspace's lock, so that no older one is written last
            fault = _write(workspace, profile, policy)
    except WorkspaceFault as error:
        if error.reason in TRANSIENT:
            return error.reason.value
        profile, fault = row.agent, error.reason.value
    WorkspaceRow.objects.filter(pk=row.pk).update(rendered_digest=profile.profile_digest)
    keep_catalogue(agent=agent)
    return fault


def _text(agent: Agent, policy: Policy) -> str | None:
    """What the file must hold; None when that does not fit."""
    text = own_file_text(agent, INSTRUCTIONS_FILE, list(file_landings(agent.pk, INSTRUCTIONS_FILE)), policy=policy)
    return None if text is None or check_instructions(text, policy=policy) is not None else text


def _write(workspace: Workspace, agent: Agent, policy: Policy) -> str | None:
    text, present = _text(agent, policy), workspace.read(INSTRUCTIONS_FILE)
    if text is None:
        return BudgetFault.INSTRUCTIONS_TOO_LARGE.value
    if present not in (None, text) and not is_ours(present, agent, INSTRUCTIONS_FILE, policy=policy):
        return "file_changed"
    if present != text:
        workspace.write(INSTRUCTIONS_FILE, text, expected=present)
    with recording(agent.organization_id):
        save_file_record(agent, INSTRUCTIONS_FILE, FileKind.INSTRUCTIONS, text)
    return None
