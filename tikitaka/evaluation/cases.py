"""The case files: JSON lines with inputs and, where known, their right outcome.

A file without labels can be read too, for decisions alone; every label then counts as empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tikitaka.errors import Invalid
from tikitaka.routing.profiles import AgentProfile, NoteText
from tikitaka.segments.extractor_input import TranscriptLine
from tikitaka.text import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingNote:
    """One note with its labels by agent key; agents in neither set are neutral."""

    id: str
    team: str
    text: NoteText
    recipients: frozenset[str]
    must_not: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingCases:
    """Rosters by team, and notes in file order; `digest` is that of the file's lines."""

    teams: Mapping[str, tuple[AgentProfile, ...]]
    notes: tuple[RoutingNote, ...]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSequence:
    """The prompts of one team in order; `shifts` are the 0-based positions that begin a new topic."""

    id: str
    prompts: tuple[str, ...]
    shifts: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentCases:
    sequences: tuple[PromptSequence, ...]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The messages of one thread; `durable` are the 0-based positions of those worth keeping."""

    id: str
    messages: tuple[TranscriptLine, ...]
    durable: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCases:
    transcripts: tuple[Transcript, ...]
    digest: str


def routing_cases(lines: Iterable[str]) -> RoutingCases:
    """Teams and notes of a routing file; raises Invalid that names the line."""
    rows, file_digest = _rows(lines)
    teams: dict[str, tuple[AgentProfile, ...]] = {}
    notes: list[RoutingNote] = []
    for number, row in rows:
        with _naming(number):
            if row.get("kind") == "team":
                teams[row["team"]] = tuple(_agent(agent) for agent in row["agents"])
            else:
                notes.append(_note(row))
    for note in notes:
        if note.team not in teams:
            raise Invalid(**{note.id: f"its team {note.team} is not in the file"})
    return RoutingCases(teams=teams, notes=tuple(notes), digest=file_digest)


def segment_cases(lines: Iterable[str]) -> SegmentCases:
    """The prompt sequences of a segments file."""
    rows, file_digest = _rows(lines)
    found: list[PromptSequence] = []
    for number, row in rows:
        with _naming(number):
            shifts = frozenset(int(position) for position in row.get("shifts", ()))
            found.append(PromptSequence(id=row["id"], prompts=tuple(row["prompts"]), shifts=shifts))
    return SegmentCases(sequences=tuple(found), digest=file_digest)


def extraction_cases(lines: Iterable[str]) -> ExtractionCases:
    """The transcripts of an extraction file."""
    rows, file_digest = _rows(lines)
    found: list[Transcript] = []
    for number, row in rows:
        with _naming(number):
            raw = row["messages"]
            messages = tuple(TranscriptLine(speaker=item["speaker"], text=item["text"]) for item in raw)
            durable = frozenset(index for index, item in enumerate(raw) if item.get("durable"))
            found.append(Transcript(id=row["id"], messages=messages, durable=durable))
    return ExtractionCases(transcripts=tuple(found), digest=file_digest)


def _agent(row: Mapping[str, Any]) -> AgentProfile:
    return AgentProfile(
        key=row["key"],
        name=row["name"],
        description=row.get("description", ""),
        instructions=row.get("instructions", ""),
    )


def _note(row: Mapping[str, Any]) -> RoutingNote:
    return RoutingNote(
        id=row["id"],
        team=row["team"],
        text=NoteText(content=row["content"], description=row.get("description", "")),
        recipients=frozenset(row.get("recipients", ())),
        must_not=frozenset(row.get("must_not", ())),
    )


def _rows(lines: Iterable[str]) -> tuple[list[tuple[int, Mapping[str, Any]]], str]:
    """The objects with their line numbers from 1, and the digest of the lines that hold them."""
    kept = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, line in kept:
        with _naming(number):
            row = json.loads(line)
            if not isinstance(row, dict):
                raise TypeError("not an object")
            rows.append((number, row))
    return rows, digest("\n".join(line for _, line in kept))


@contextmanager
def _naming(number: int) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Invalid(**{f"line {number}": f"cannot be read: {error!r}"}) from error
