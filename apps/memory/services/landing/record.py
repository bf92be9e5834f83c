"""From the record to text: what a governed file must hold, and whether what lies there is something that we wrote."""

from __future__ import annotations

from collections.abc import Sequence

from apps.ledger import clock
from apps.memory.models import FileKind, GovernedFile, Landing, LandingStatus
from apps.memory.selectors import file_landings
from apps.teams.models import Agent
from tikitaka.landing.files import INSTRUCTIONS_FILE, LandedNote, render_instructions, render_skill
from tikitaka.policy import Policy
from tikitaka.text import digest


def as_landed(landing: Landing) -> LandedNote:
    """A landing as a file shows it."""
    note = landing.note
    return LandedNote(
        id=note.pk,
        content=note.content,
        description=note.description,
        landed_at=landing.intended_at,
        expires_at=note.expires_at,
    )


def own_file_text(agent: Agent, file: str, landings: Sequence[Landing], *, policy: Policy) -> str | None:
    """A file that is wholly ours, rendered from its landings; None when no such file should be."""
    notes = [as_landed(landing) for landing in sorted(landings, key=lambda item: (item.intended_at, item.pk))]
    if file == INSTRUCTIONS_FILE:
        return render_instructions(name=agent.name, instructions=agent.instructions, notes=notes)
    if not notes:
        return None
    return render_skill(_key(file), notes, description_limit=policy.skill_description_chars)


def is_ours(text: str | None, agent: Agent, file: str, *, policy: Policy) -> bool:
    """True when `text` is what we last wrote, or what a writer wrote that died before it could say so."""
    recorded = GovernedFile.objects.filter(agent=agent, file=file).values_list("digest", flat=True).first()
    if text is None:
        return recorded is None
    if recorded == digest(text):
        return True
    landed = list(file_landings(agent.pk, file))
    if text == own_file_text(agent, file, landed, policy=policy):
        return True
    unsaid = Landing.objects.filter(agent=agent, file=file, status=LandingStatus.INTENDED).select_related("note")
    if any(text == own_file_text(agent, file, [*landed, extra], policy=policy) for extra in unsaid):
        return True
    leaving = [item for item in landed if item.remove_requested_at is not None]
    return any(
        text == own_file_text(agent, file, [item for item in landed if item.pk != gone.pk], policy=policy)
        for gone in leaving
    )


def file_kind(agent: Agent, file: str, present: str | None, *, policy: Policy) -> FileKind:
    """Whose file it is: by our record; without one, ours when nothing is there or when it is what we would write.

    The last is a file whose writer died before it could record it. Taken for a person's, it would keep its front
    matter when its note is revoked.
    """
    if file == INSTRUCTIONS_FILE:
        return FileKind.INSTRUCTIONS
    recorded = GovernedFile.objects.filter(agent=agent, file=file).values_list("kind", flat=True).first()
    if recorded is not None:
        return FileKind(recorded)
    ours = present is None or is_ours(present, agent, file, policy=policy)
    return FileKind.OWN_SKILL if ours else FileKind.FOREIGN_SKILL


def save_file_record(agent: Agent, file: str, kind: FileKind, text: str | None) -> None:
    """Notes what we wrote; a file that is gone or a person's skill without our blocks has no row."""
    if text is None:
        GovernedFile.objects.filter(agent=agent, file=file).delete()
        return
    written = "" if kind is FileKind.FOREIGN_SKILL else digest(text)
    GovernedFile.objects.update_or_create(
        agent=agent,
        file=file,
        defaults={
            "organization_id": agent.organization_id,
            "kind": kind,
            "digest": written,
            "written_at": clock.now(),
        },
    )


def _key(file: str) -> str:
    return file.split("/")[-2]
