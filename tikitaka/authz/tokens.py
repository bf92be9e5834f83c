"""Bearer tokens of machines: their form, what is stored of them, and what they may be given.

`tk_<prefix>_<secret>`: the prefix finds the row, the secret is 256 random bits, and only its SHA-256 is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from tikitaka.authz.permissions import Permission

_FORM = re.compile(r"tk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")

# What an owner may give to a machine. To decide about notes and people, to close what a person must look at, to write
# as a person and to make tokens is not among it.
MACHINE_SCOPES = frozenset(
    {
        Permission.ORGANIZATION_VIEW,
        Permission.TEAMS_MANAGE,
        Permission.WORK_PAUSE,
        Permission.TASK_RUN,
        Permission.WORK_IMPORT,
        Permission.NODE_LEASE,
        Permission.NOTE_VIEW,
        Permission.LEDGER_READ,
        Permission.LEDGER_VERIFY,
    }
)


class TokenKind(StrEnum):
    """An orchestrator; one agent; one attempt of an agent, for as long as that runs."""

    SERVICE = "service"
    AGENT = "agent"
    ATTEMPT = "attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """What a request with a token may touch: one organization, some of its teams (None: all), some permissions.

    A token of an agent or of an attempt holds no permission; it is bound to that agent, and to that attempt.
    """

    kind: TokenKind
    organization: UUID
    teams: frozenset[UUID] | None
    scopes: frozenset[Permission]
    agent: UUID | None = None
    attempt: UUID | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    """The two parts of a token that somebody shows."""

    prefix: str
    secret: str

    @property
    def digest(self) -> str:
        """What is stored and compared."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def matches(self, digest: str) -> bool:
        """Compares in constant time."""
        return hmac.compare_digest(self.digest, digest)

    def __str__(self) -> str:
        return f"tk_{self.prefix}_{self.secret}"

    def __repr__(self) -> str:
        return f"Credential(tk_{self.prefix}_…)"


def read_token(text: str) -> Credential | None:
    """The parts of a token; None where the text has not its form."""
    found = _FORM.fullmatch(text)
    return Credential(*found.groups()) if found else None
