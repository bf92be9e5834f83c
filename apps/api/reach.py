"""Objects reach the door only through here: by the permission that is needed, absent and forbidden alike."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn, TypeVar
from uuid import UUID

from django.db.models import Model

from apps.accounts.models import Organization
from apps.accounts.selectors import ids_with
from apps.accounts.services.authorize import AccessRefused, deny_at_home
from apps.api.reading import Rows
from apps.ledger.rows import Condition, Ids, column, equal, every, ids_of, instances, led
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.authz.decide import DenyReason
from tikitaka.errors import NotFound

M = TypeVar("M", bound=Model)
VIEW = Permission.ORGANIZATION_VIEW


def seen(actor: Principal, model: type[Model], *, sees: Permission = VIEW, path: str = "team") -> Condition:
    """True of rows whose team, or organization where `path` ends in that, the caller holds `sees` on."""
    container: type[Model] = Organization if path == "pk" or path.endswith("organization") else Team
    if model is Team:
        container, path = Team, "pk"
    held = _within(model, path, ids_with(actor, sees, container))
    if actor.grant is None or not _has_organization(model):
        return held
    # A token is of one organization. Said once more, since there is an index by which its rows lie in order.
    return every((equal("organization_id", actor.grant.organization), held))


@cache
def _has_organization(model: type[Model]) -> bool:
    return any(field.attname == "organization_id" for field in model._meta.concrete_fields)  # noqa: SLF001 a documented name


def _within(model: type[Model], path: str, ids: Ids) -> Condition:
    """True of rows from which `path` leads to one of `ids`."""
    name, _, behind = path.partition("__")
    if name == "pk":
        return ids.hold("id")
    if behind:
        other: Any = model._meta.get_field(name).related_model  # noqa: SLF001 Django's documented name
        ids = ids_of(other, _within(other, behind, ids))
    return ids.hold(column(model, name))


def rows_of(actor: Principal, model: type[Model], *, sees: Permission = VIEW, path: str = "team") -> Rows:
    """The rows that the caller sees."""
    return Rows(model).having(seen(actor, model, sees=sees, path=path))


def reach(
    actor: Principal,
    model: type[M],
    identity: UUID,
    permission: Permission = VIEW,
    *,
    sees: Permission = VIEW,
    path: str = "team",
    select: str = "",
) -> M:
    """The row; NotFound unless the caller holds `sees`, Forbidden when they see it but do not hold `permission`.

    Either is an entry when the row belongs to an organization of the caller's own. `select` names what it leads to
    and is needed as well.
    """
    wanted = every((equal("id", identity), seen(actor, model, sees=permission, path=path)))
    found = (led(model, wanted, select) if select else instances(model, wanted)).ask()
    if not found:
        visible = seen(actor, model, sees=sees, path=path) if permission is not sees else None
        refuse(actor, model, identity, permission, visible)
    return found[0]


def refuse(
    actor: Principal, model: type[Model], identity: UUID, permission: Permission, visible: Condition | None = None
) -> NoReturn:
    """Records that a row was not reached; AccessRefused where it is `visible` all the same, else NotFound."""
    names: Any = model._default_manager.filter(pk=identity)  # noqa: SLF001 Django's documented name
    field = "pk" if model is Organization else "organization_id"
    home = names.values_list(field, flat=True).first()
    deny_at_home(actor, permission.value, organization=home, object_id=identity)
    if visible is not None and instances(model, every((equal("id", identity), visible))).ask():
        raise AccessRefused(permission, (DenyReason.NO_GRANT.value,))
    raise NotFound(f"no such {model._meta.verbose_name}")  # noqa: SLF001 Django's documented name
