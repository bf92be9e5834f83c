"""Who somebody is, what they hold, and the only way to an organization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet
from guardian.utils import get_group_obj_perms_model

from apps.accounts.models import Membership, Organization, User
from tikitaka.authz import Permission, Principal, PrincipalKind
from tikitaka.errors import NotFound


CODENAMES = frozenset(permission.value for permission in Permission)


def principal_of(user: User, auth: Mapping[str, Any] | None = None) -> Principal:
    """A logged-in person as a principal; `auth` says how they proved who they are."""
    return Principal(
        kind=PrincipalKind.USER, id=user.pk, name=user.username, active=user.is_active, auth=dict(auth or {})
    )


def held_permissions(user: UUID, container: Model) -> frozenset[Permission]:
    """What the person's role groups hold on an organization or a team, from guardian's rows alone."""
    rows: Any = get_group_obj_perms_model(container)
    held = rows.objects.filter(content_object=container, group__user__pk=user, permission__codename__in=CODENAMES)
    return frozenset(Permission(codename) for codename in held.values_list("permission__codename", flat=True))


def held_by(principal: Principal, container: Model) -> frozenset[Permission]:
    """The same for any principal; machines hold nothing by role."""
    if principal.kind is not PrincipalKind.USER or principal.id is None:
        return frozenset()
    return held_permissions(principal.id, container)


def containers_with(principal: Principal, permission: Permission, model: type[Model]) -> QuerySet[Any]:
    """The organizations or teams on which the principal holds `permission`."""
    if principal.kind is PrincipalKind.SYSTEM:
        return model._default_manager.all()
    if principal.kind is not PrincipalKind.USER or not principal.active:
        return model._default_manager.none()
    rows: Any = get_group_obj_perms_model(model)
    held = rows.objects.filter(permission__codename=permission.value, group__user__pk=principal.id)
    return model._default_manager.filter(pk__in=held.values("content_object"))


def organizations_of(principal: Principal) -> QuerySet[Organization]:
    """Those in which the principal may look around."""
    found: QuerySet[Organization] = containers_with(principal, Permission.ORGANIZATION_VIEW, Organization)
    return found.order_by("name")


def access_organization(actor: Principal, organization: UUID, permission: Permission) -> Organization:
    """The organization; absent and forbidden give the same NotFound."""
    found = containers_with(actor, permission, Organization).filter(pk=organization).first()
    if found is None:
        raise NotFound("no such organization")
    result: Organization = found
    return result


def membership_of(user: UUID, organization: UUID) -> Membership | None:
    """The membership, if any."""
    return Membership.objects.filter(user_id=user, organization_id=organization).select_related("user").first()
