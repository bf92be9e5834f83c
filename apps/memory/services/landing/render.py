"""The instructions file of an agent, written when the agent is registered or its instructions change."""

from __future__ import annotations

from apps.ledger.services import recording
from apps.memory.models import FileKind
from apps.memory.selectors import file_landings
from apps.memory.services.landing.record import is_ours, own_file_text, save_file_record
from apps.teams.models import Agent
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.errors import Invalid
from tikitaka.landing.budgets import check_instructions
from tikitaka.landing.files import INSTRUCTIONS_FILE
from tikitaka.policy import Policy
from tikitaka.workspace import WorkspaceFault, open_workspace


def render_agent_instructions(*, agent: Agent, policy: Policy) -> str | None:
    """Writes the file from stored instructions and the blocks of the record; returns the fault, if any.

    A file that somebody else changed is left alone; reconciling shows it as drift.
    """
    text = own_file_text(agent, INSTRUCTIONS_FILE, list(file_landings(agent.pk, INSTRUCTIONS_FILE)), policy=policy)
    if text is None or check_instructions(text, policy=policy) is not None:
        raise Invalid(instructions="together with the governed notes they do not fit into the instructions file")
    try:
        with open_workspace(workspace_folder(workspace_of(agent.pk))) as workspace:
            present = workspace.read(INSTRUCTIONS_FILE)
            if present not in (None, text):
                before = Agent.objects.get(pk=agent.pk)
                if not is_ours(present, before, INSTRUCTIONS_FILE, policy=policy):
                    return "file_changed"
            if present != text:
                workspace.write(INSTRUCTIONS_FILE, text, expected=present)
            with recording(agent.organization_id):
                save_file_record(agent, INSTRUCTIONS_FILE, FileKind.INSTRUCTIONS, text)
    except WorkspaceFault as fault:
        return fault.reason.value
    return None
