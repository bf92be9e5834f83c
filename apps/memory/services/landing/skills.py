"""The skills in an agent's own workspace, as placement sees them: from the disk, or as its host saw them last."""

from __future__ import annotations

from dataclasses import asdict, replace
from uuid import UUID

from apps.ledger import clock
from apps.memory.models import FileKind, GovernedFile, SkillCatalogue
from apps.teams.hosts import are_named, is_here
from apps.teams.models import Workspace
from apps.teams.selectors import workspace_folder, workspace_of
from tikitaka.landing.blocks import BlocksRefused, find_blocks
from tikitaka.landing.files import read_skill_head
from tikitaka.routing.placement import SkillProfile
from tikitaka.safety import redact_captured
from tikitaka.text import clean_captured
from tikitaka.workspace import WorkspaceFault, open_workspace


def own_skills(*, agent: UUID) -> list[SkillProfile] | None:
    """The skills of this agent and nobody else's; None if they cannot be known.

    Where the workspace lies on another host they are as that host saw them last; landing looks again before it writes.
    """
    row = workspace_of(agent)
    return _on_disk(row) if is_here(row.agent.team.host) else _kept(agent)


def keep_catalogue(*, agent: UUID) -> None:
    """Lets other hosts know which skills the agent has; what cannot be read is not known to them either."""
    if not are_named():
        return
    row = workspace_of(agent)
    skills = _on_disk(row)
    if skills is None:
        SkillCatalogue.objects.filter(agent_id=agent).delete()
        return
    SkillCatalogue.objects.update_or_create(
        agent_id=agent,
        defaults={
            "organization_id": row.organization_id,
            "skills": [asdict(_storable(skill)) for skill in skills],
            "seen_at": clock.now(),
        },
    )


def _storable(skill: SkillProfile) -> SkillProfile:
    """An agent's program can write a skill: what is kept of it is captured output, and is treated as such."""
    return replace(skill, name=_captured(skill.name), description=_captured(skill.description))


def _captured(text: str) -> str:
    return redact_captured(clean_captured(text)).text


def _kept(agent: UUID) -> list[SkillProfile] | None:
    kept = SkillCatalogue.objects.filter(agent_id=agent).first()
    if kept is None:
        return None
    return [SkillProfile(**{**skill, "examples": tuple(skill["examples"])}) for skill in kept.skills]


def _on_disk(row: Workspace) -> list[SkillProfile] | None:
    governed = GovernedFile.objects.filter(agent_id=row.agent_id, kind=FileKind.OWN_SKILL)
    ours = {file.split("/")[-2] for file in governed.values_list("file", flat=True)}
    try:
        with open_workspace(workspace_folder(row)) as workspace:
            skills = workspace.skills()
    except WorkspaceFault:
        return None
    return [_profile(key, text or "", ours=key in ours) for key, text in skills.items()]


def _profile(key: str, text: str, *, ours: bool) -> SkillProfile:
    head = read_skill_head(text)
    blocks = find_blocks(text)
    return SkillProfile(
        key=key,
        name=head.name if head else key,
        description=head.description if head else "",
        examples=() if isinstance(blocks, BlocksRefused) else tuple(block.body.split("\n\n")[0] for block in blocks),
        ours=ours,
    )
