"""The check that every service makes first, and the record of a refusal."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Model

from apps.accounts.models import Membership
from apps.accounts.selectors import held_by
from apps.ledger.services import deny
from tikitaka.authz import Context, Denied, Permission, Principal, PrincipalKind, decide
from tikitaka.authz.decide import DenyReason
from tikitaka.errors import Forbidden


class AccessRefused(Forbidden):
    """You may not do this here."""

    code = "forbidden"

    def __init__(self, permission: Permission, reasons: tuple[str, ...]) -> None:
        self.permission = permission
        self.reasons = reasons
        super().__init__(f"{permission.value}: {', '.join(reasons)}", reasons=reasons)


def authorize(
    actor: Principal,
    permission: Permission,
    container: Model,
    *,
    organization: UUID,
    object_id: UUID,
    context: Context | None = None,
) -> None:
    """Returns when allowed; otherwise records the denial and raises AccessRefused. Call before writing."""
    verdict = decide(actor, permission, held_by(actor, container), context)
    if isinstance(verdict, Denied):
        reasons = tuple(reason.value for reason in verdict.reasons)
        deny(organization, actor=actor.actor, permission=permission.value, object_id=object_id, reasons=reasons)
        raise AccessRefused(permission, reasons)


def deny_at_home(actor: Principal, permission: str, *, organization: UUID | None, object_id: UUID) -> None:
    """Records that something was refused like what does not exist, when it is of an organization of the caller's own.

    What a stranger tries is no entry in a log that is not theirs.
    """
    if organization is not None and _is_home(actor, organization):
        reasons = (DenyReason.NO_GRANT.value,)
        deny(organization, actor=actor.actor, permission=permission, object_id=object_id, reasons=reasons)


def _is_home(actor: Principal, organization: UUID) -> bool:
    if actor.grant is not None:
        return actor.grant.organization == organization
    if actor.kind is not PrincipalKind.USER:
        return False
    return Membership.objects.filter(organization=organization, user=actor.id).exists()
