"""The skills in an agent's own workspace, as placement sees them: from the disk, or as its host saw them last."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    return skills_of([agent])[agent]


def skills_of(agents: Sequence[UUID]) -> dict[UUID, list[SkillProfile] | None]:
    """The same for several agents, with as many queries as for one."""
    rows = Workspace.objects.select_related("agent__team").filter(agent_id__in=agents)
    here = [row for row in rows if is_here(row.agent.team.host)]
    found = _kept([row.agent_id for row in rows if row not in here])
    ours = _our_files([row.agent_id for row in here])
    return found | {row.agent_id: _on_disk(row, ours[row.agent_id]) for row in here}


def keep_catalogue(*, agent: UUID) -> None:
    """Lets other hosts know which skills the agent has; what cannot be read is not known to them either."""
    if not are_named():
        return
    row = workspace_of(agent)
    skills = _on_disk(row, _our_files([agent])[agent])
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


def _kept(agents: Sequence[UUID]) -> dict[UUID, list[SkillProfile] | None]:
    rows = SkillCatalogue.objects.filter(agent_id__in=agents) if agents else ()
    kept = {
        row.agent_id: [SkillProfile(**{**skill, "examples": tuple(skill["examples"])}) for skill in row.skills]
        for row in rows
    }
    return {agent: kept.get(agent) for agent in agents}


def _our_files(agents: Sequence[UUID]) -> dict[UUID, set[str]]:
    """The keys of the skills that landing made for each of some agents."""
    keys: dict[UUID, set[str]] = {agent: set() for agent in agents}
    governed = GovernedFile.objects.filter(agent_id__in=agents, kind=FileKind.OWN_SKILL)
    for agent, file in governed.values_list("agent_id", "file"):
        keys[agent].add(file.split("/")[-2])
    return keys


def _on_disk(row: Workspace, ours: Collection[str]) -> list[SkillProfile] | None:
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
