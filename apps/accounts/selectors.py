"""Who somebody is, what they hold, and the only way to an organization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet
from guardian.utils import get_group_obj_perms_model

from apps.accounts.models import Organization, User, codenames_held
from tikitaka.authz import Permission, Principal, PrincipalKind
from tikitaka.errors import NotFound


def principal_of(user: User, auth: Mapping[str, Any] | None = None) -> Principal:
    """A logged-in person as a principal; `auth` says how they proved who they are."""
    return Principal(
        kind=PrincipalKind.USER, id=user.pk, name=user.username, active=user.is_active, auth=dict(auth or {})
    )


def held_by(principal: Principal, container: Model) -> frozenset[Permission]:
    """What a principal holds on an organization or a team; machines hold nothing by role."""
    if principal.kind is not PrincipalKind.USER or principal.id is None:
        return frozenset()
    codenames = codenames_held(principal.id, container)
    return frozenset(permission for permission in Permission if permission.value in codenames)


def containers_with(principal: Principal, permission: Permission, model: type[Model]) -> QuerySet[Any]:
    """The organizations or teams on which the principal holds `permission`."""
    if principal.kind is PrincipalKind.SYSTEM:
        return _rows(model)
    if principal.kind is not PrincipalKind.USER or not principal.active:
        return _rows(model).none()
    rows: Any = get_group_obj_perms_model(model())
    held = rows.objects.filter(permission__codename=permission.value, group__user__pk=principal.id)
    return _rows(model).filter(pk__in=held.values("content_object"))


def _rows(model: type[Model]) -> QuerySet[Any]:
    return model._default_manager.all()  # noqa: SLF001 Django's documented name


def access_organization(actor: Principal, organization: UUID, permission: Permission) -> Organization:
    """The organization; absent and forbidden give the same NotFound."""
    found = containers_with(actor, permission, Organization).filter(pk=organization).first()
    if found is None:
        raise NotFound("no such organization")
    result: Organization = found
    return result
