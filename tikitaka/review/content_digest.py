"""What an approval is bound to: text, recipients with placement and verdict, reasons, policy, how long it holds.

Agents that took no part are left out: they receive nothing, and one that is registered later changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRecipient:
    """One agent's row as it is approved."""

    agent: str
    verdict: str
    reason: str | None
    score_bp: int | None
    threshold_bp: int | None
    placement: str
    placement_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestContent:
    """Everything that a reviewer sees and approves."""

    content: str
    description: str
    rationale: str
    skill_key: str
    severity: str
    expires_at: str
    recipients: Sequence[DigestRecipient]
    reasons: Sequence[str]
    policy: str


def content_digest(content: DigestContent) -> str:
    """SHA-256 over the canonical JSON of the whole, in hex; recipients are ordered by agent."""
    value = asdict(content)
    value["recipients"] = sorted(value["recipients"], key=lambda recipient: recipient["agent"])
    value["reasons"] = sorted(value["reasons"])
    data = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()
