"""The material of one flush, rebuilt from stored rows: prompts whole, transcript and node entries within a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tikitaka.policy import Policy
from tikitaka.text import cut


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptLine:
    """One message of the segment; `injected` when we put it before an agent ourselves."""

    speaker: str
    text: str
    injected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEntry:
    """One span worth reading: kind and text, numbered in the request."""

    kind: str
    text: str
    injected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One attempt of a finished node, with its output and spans, in order of execution."""

    agent: str
    role: str
    instruction: str
    output: str
    spans: tuple[SpanEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorInput:
    """The text for the model, and how many runs and spans it numbers."""

    text: str
    runs: int
    spans: int
    dropped_messages: int


def build_input(
    *, prompts: Sequence[str], transcript: Sequence[TranscriptLine], runs: Sequence[RunEntry], policy: Policy
) -> ExtractorInput:
    """Prompts stand outside the buffer and are never trimmed; of the transcript the oldest lines are dropped first.

    The transcript has its share of the buffer, and what it leaves goes to the runs; of a run's spans the earliest stay
    fullest. Numbers of runs and spans do not depend on trimming.
    """
    share = policy.extractor_buffer_chars * policy.extractor_transcript_share_bp // 10_000
    kept, used = _newest(transcript, share)
    budget = policy.extractor_buffer_chars - used
    blocks: list[str] = []
    number = 0
    for index, run in enumerate(runs, start=1):
        lines = [f"## Run {index}: {run.agent} ({run.role})", f"Task of this run: {run.instruction}"]
        for span in run.spans:
            number += 1
            lines.append(f"Span {number} [{_label(span.kind, injected=span.injected)}]: {span.text}")
        lines.append(f"Output: {run.output}")
        block = cut("\n".join(lines), max(budget, 0))
        budget -= len(block)
        blocks.append(block or f"## Run {index}: (left out)")
    parts = ["# Tasks of this thread", *(f"{n}. {prompt}" for n, prompt in enumerate(prompts, start=1))]
    parts += ["", "# Conversation (data)", *kept, "", "# Runs (data)", *blocks]
    return ExtractorInput(
        text="\n".join(parts), runs=len(runs), spans=number, dropped_messages=len(transcript) - len(kept)
    )


def _newest(transcript: Sequence[TranscriptLine], share: int) -> tuple[list[str], int]:
    kept: list[str] = []
    used = 0
    for line in reversed(transcript):
        text = f"{_label(line.speaker, injected=line.injected)}: {line.text}"
        if used + len(text) > share:
            break
        kept.append(text)
        used += len(text)
    kept.reverse()
    return kept, used


def _label(name: str, *, injected: bool) -> str:
    return f"{name}, injected" if injected else name
