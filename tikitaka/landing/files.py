"""Whole governed files: the skill that we own, the instructions file, and reading a skill that somebody else wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import yaml

from tikitaka.landing.blocks import neutralized, render_block
from tikitaka.landing.keys import is_skill_key
from tikitaka.text import cut, one_line

INSTRUCTIONS_FILE = "AGENTS.md"
OVERRIDE_FILE = "AGENTS.override.md"
SKILLS_FOLDER = ".agents/skills"
_AIMED_DESCRIPTION = 200
_HEAD_MAX = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedNote:
    """A note as a file shows it."""

    id: UUID
    content: str
    description: str
    landed_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillHead:
    """The front matter of a skill."""

    name: str
    description: str


def skill_file(key: str) -> str:
    """The path of a skill inside a workspace; raises ValueError for anything but a skill key."""
    if not is_skill_key(key):
        raise ValueError("not a skill key")
    return f"{SKILLS_FOLDER}/{key}/SKILL.md"


def block_body(note: LandedNote) -> str:
    """What stands between the markers: the statement, and from when to when it holds."""
    until = f", valid until {note.expires_at:%Y-%m-%d}" if note.expires_at else ""
    return f"{neutralized(note.content)}\n\n_Landed {note.landed_at:%Y-%m-%d}{until}._"


def render_skill(key: str, notes: Sequence[LandedNote], *, description_limit: int) -> str:
    """A skill file that is wholly ours, rebuilt from its notes: front matter first, markers in the body only."""
    if not notes:
        raise ValueError("a skill without notes has no file")
    description = skill_description([note.description for note in notes], limit=description_limit)
    ids = " ".join(str(note.id) for note in notes)
    head = [
        "---",
        f"name: {key}",
        f"description: {quoted(description)}",
        "metadata:",
        f'  tikitaka-notes: "{ids}"',
        "---",
        "",
        f"# {key.replace('-', ' ').capitalize()}",
        "",
    ]
    return "\n".join(head) + "\n" + "\n".join(render_block(note.id, block_body(note)) for note in notes)


def skill_description(descriptions: Sequence[str], *, limit: int) -> str:
    """The first note's description; those of the others join while the whole stays within the length aimed at."""
    whole = ""
    for text in descriptions:
        line = one_line(text)
        longer = f"{whole.rstrip('.')}; {line}" if whole else line
        if not whole or (line not in whole and len(longer) <= _AIMED_DESCRIPTION):
            whole = longer
    return cut(whole, limit)


def quoted(text: str) -> str:
    """A one-line JSON string with raw Unicode: the one form of front matter value that every runtime reads back."""
    return json.dumps(one_line(text), ensure_ascii=False)


def render_instructions(*, name: str, instructions: str, notes: Sequence[LandedNote]) -> str:
    """The instructions file, whole: severe notes at the top, where no budget cuts, then the agent's own text."""
    parts = []
    if notes:
        parts.append("# Governed notes\n")
        parts += [render_block(note.id, instructions_body(note)) for note in notes]
    parts.append(f"# {one_line(name)}\n")
    if instructions.strip():
        parts.append(instructions.rstrip("\n") + "\n")
    return "\n".join(parts)


def instructions_body(note: LandedNote) -> str:
    """The same in the instructions file, where no front matter says when it matters."""
    return f"**{_heading(note)}**\n\n{block_body(note)}"


def _heading(note: LandedNote) -> str:
    return neutralized(one_line(note.description)).replace("*", "\\*")


def read_skill_head(text: str) -> SkillHead | None:
    """Name and description of a skill that anybody wrote; None when a runtime would drop the file.

    Front matter of more than 32 768 characters is not read: parsing it would cost seconds, and any agent can write it.
    """
    lines = text[:_HEAD_MAX].split("\n")
    if lines[0].rstrip("\r") != "---":
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip("\r") == "---":
            return _head("\n".join(lines[1:number]))
    return None


@lru_cache(maxsize=256)
def _head(front_matter: str) -> SkillHead | None:
    """Kept, since the same files are looked at before each attempt and parsing one costs more than reading it."""
    try:
        data: Any = yaml.safe_load(front_matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("description"), str) or not data["description"].strip():
        return None
    name = data.get("name")
    return SkillHead(name=name if isinstance(name, str) else "", description=data["description"])
