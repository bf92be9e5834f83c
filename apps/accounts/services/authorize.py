"""The check that every service makes first, and the record of a refusal."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Model

from apps.accounts.selectors import held_by
from apps.ledger.services import deny
from tikitaka.authz import Context, Denied, Permission, Principal, decide
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
