"""What the rules need from outside, as protocols: time, ids, language models, sentence vectors, agent runtimes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import UUID

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a language model. `schema` is a JSON schema that the answer should obey (never trusted)."""

    purpose: Literal["plan", "extract"]
    system: str
    user: str
    schema: Mapping[str, Any]
    timeout_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What the server sent, unjudged: `body` holds status, finish_reason, message; `failure` when nothing came."""

    body: Mapping[str, Any] | None
    failure: Literal["timeout", "http_error", "off"] | None = None
    provider: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class LanguageModel(Protocol):
    """Answers one request; never raises for what the server does wrong. `priced_as` is its name in the price list."""

    name: str
    priced_as: str

    def complete(self, request: ModelRequest) -> ModelReply: ...


class Embedder(Protocol):
    """Unit vectors of texts. `digest` names the exact weights; vectors of two digests never meet."""

    digest: str

    def embed(self, texts: Sequence[str]) -> list[Vector]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One attempt to be run: where, with what prompt, how long, and how much it may print."""

    attempt_id: UUID
    workspace: Path
    home: Path
    command: Sequence[str]
    prompt: str
    thread_id: str | None
    timeout_s: float
    output_bytes_max: int
    environment: Mapping[str, str] = field(default_factory=dict)


ErrorKind = Literal[
    "timed_out",
    "connection_reset",
    "exit_nonzero",
    "agent_busy",
    "no_answer",
    "bad_answer",
    "output_overflow",
    "missing_program",
    "interrupted",
    "cancelled",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How an attempt ended: an answer, or a named kind of error with a line for the person who looks."""

    answer: str | None
    error: ErrorKind | None = None
    detail: str = ""
    thread_id: str | None = None
    exit_code: int | None = None
    usage: Mapping[str, int] = field(default_factory=dict)


class AgentRuntime(Protocol):
    """Runs one attempt, hands over each line of output as it comes, and returns when no process of it is left."""

    def run(self, launch: Launch, *, on_line: Callable[[str], None], cancelled: Callable[[], bool]) -> RunEnd: ...
