"""A note that was approved for a new skill, when another note has made that skill meanwhile."""

from __future__ import annotations

from uuid import UUID

from apps.memory.models import Landing, Note, Recipient
from apps.memory.selectors import LIVE_LANDINGS
from apps.memory.services.landing.skills import own_skills
from apps.providers.services.vectors import EncoderOff, vectors_for
from tikitaka.landing.files import skill_file
from tikitaka.policy import Policy
from tikitaka.routing.placement import SkillProfile, place, texts_to_embed
from tikitaka.routing.profiles import NoteText


def taken_keys(note: Note) -> dict[UUID, str]:
    """Recipients who were to get a new skill that holds another note by now, each with the skill's key."""
    waiting = Recipient.objects.filter(note=note, verdict="granted", placement="new")
    keys = dict(waiting.values_list("agent_id", "placement_key"))
    live = Landing.objects.filter(agent_id__in=keys, status__in=LIVE_LANDINGS)
    own = set(live.filter(note=note).values_list("agent_id", flat=True))
    held = set(live.exclude(note=note).values_list("agent_id", "file"))
    return {agent: key for agent, key in keys.items() if agent not in own and (agent, skill_file(key)) in held}


def still_belongs(note: Note, agent: UUID, key: str, *, policy: Policy) -> bool:
    """Whether placement, asked again, would put the note into that very skill. May ask the encoder.

    The skill is taken as the record has it: the other note may not be written yet, or an agent moved its file away.
    """
    skills = [skill for skill in own_skills(agent=agent) or [] if skill.key != key]
    skills.append(_as_recorded(note, agent, key))
    text = NoteText(content=note.content, description=note.description).whole
    try:
        vectors = vectors_for(texts_to_embed(text, skills))
    except EncoderOff:
        return False
    found = place(
        note_text=text,
        proposed_key=key,
        own_skills=skills,
        vectors=vectors,
        threshold_bp=policy.skill_threshold_bp,
    )
    return (found.kind, found.skill_key) == ("existing", key)


def _as_recorded(note: Note, agent: UUID, key: str) -> SkillProfile:
    live = Landing.objects.filter(agent_id=agent, file=skill_file(key), status__in=LIVE_LANDINGS).exclude(note=note)
    others = [landing.note for landing in live.select_related("note").order_by("intended_at", "id")]
    return SkillProfile(
        key=key,
        name=key,
        description=others[0].description if others else "",
        examples=tuple(other.content for other in others),
        ours=True,
    )
