"""Who asks: a person, an agent, a service token or the system itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from tikitaka.authz.permissions import Permission
from tikitaka.authz.tokens import TokenGrant
from tikitaka.ledger.entries import Actor


class PrincipalKind(StrEnum):
    """`system` is our own jobs; `policy` is a rule of the product acting by itself."""

    USER = "user"
    AGENT = "agent"
    SERVICE = "service"
    POLICY = "policy"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An identity as one request carries it. `auth` says how somebody proved who they are, for the ledger.

    `grant` is what the token of a machine holds; people hold what their role gives them.
    """

    kind: PrincipalKind
    id: UUID | None
    name: str
    active: bool = True
    auth: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    grant: TokenGrant | None = None

    @property
    def actor(self) -> Actor:
        """How the ledger names this principal: by pseudonymous id, never by a person's name."""
        return Actor(kind=self.kind.value, id=str(self.id or self.name), auth=dict(self.auth) or None)


SYSTEM = Principal(kind=PrincipalKind.SYSTEM, id=None, name="tikitaka")

# What the product's own jobs may do without a grant. Decisions about notes are not among it.
SYSTEM_PERMISSIONS = frozenset({Permission.ORGANIZATION_VIEW, Permission.TASK_RUN, Permission.NOTE_VIEW})
