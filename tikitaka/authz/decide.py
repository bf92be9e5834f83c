"""The decision: default deny, any forbid beats every grant, the reasons are named."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from tikitaka.authz.permissions import Permission
from tikitaka.authz.principals import SYSTEM_PERMISSIONS, Principal, PrincipalKind


class DenyReason(StrEnum):
    """Why a request was denied; shown, stored in the ledger and asserted in tests under this name."""

    INACTIVE = "inactive"
    NO_GRANT = "no_grant"
    MACHINES_NEVER_DECIDE = "machines_never_decide"
    AUTHOR_DECIDES_NOT = "author_decides_not"
    SUBMITTER_DECIDES_NOT = "submitter_decides_not"
    OWN_ROLE = "own_role"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What separation of duties looks at: who wrote or edited the note, who submitted its tasks, whom a role is for."""

    authors: frozenset[UUID] = field(default_factory=frozenset)
    submitters: frozenset[UUID] = field(default_factory=frozenset)
    grantee: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The permission is held and nothing forbids it."""

    permission: Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Every reason that applied, in a fixed order."""

    permission: Permission
    reasons: tuple[DenyReason, ...]


_DECISIONS = frozenset(
    {Permission.NOTE_DECIDE, Permission.NOTE_REVOKE, Permission.MEMBERS_MANAGE, Permission.TOKENS_MANAGE}
)


def decide(
    principal: Principal, permission: Permission, held: frozenset[Permission], context: Context | None = None
) -> Allowed | Denied:
    """`held` are the permissions that the principal's grants give on the object (the system has its own fixed set)."""
    context = context or Context()
    granted = SYSTEM_PERMISSIONS if principal.kind is PrincipalKind.SYSTEM else held
    reasons: list[DenyReason] = []
    if not principal.active:
        reasons.append(DenyReason.INACTIVE)
    if permission not in granted:
        reasons.append(DenyReason.NO_GRANT)
    if permission in _DECISIONS and principal.kind is not PrincipalKind.USER:
        reasons.append(DenyReason.MACHINES_NEVER_DECIDE)
    if permission is Permission.NOTE_DECIDE and principal.id in context.authors:
        reasons.append(DenyReason.AUTHOR_DECIDES_NOT)
    if permission is Permission.NOTE_DECIDE and principal.id in context.submitters:
        reasons.append(DenyReason.SUBMITTER_DECIDES_NOT)
    if permission is Permission.MEMBERS_MANAGE and context.grantee is not None and principal.id == context.grantee:
        reasons.append(DenyReason.OWN_ROLE)
    if reasons:
        return Denied(permission=permission, reasons=tuple(reasons))
    return Allowed(permission=permission)
