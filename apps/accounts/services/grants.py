"""The one place where memberships become guardian rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from django.contrib.auth.models import Permission as DjangoPermission
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from guardian.utils import get_group_obj_perms_model

from apps.accounts.models import User
from tikitaka.authz import ROLE_PERMISSIONS, Role


def role_group(organization: UUID, role: Role) -> Group:
    """The group of everybody with `role` in the organization."""
    group, _ = Group.objects.get_or_create(name=f"org:{organization}:{role.value}")
    return group


def derive_grants(container: Model, organization: UUID) -> None:
    """Gives each role group of the organization exactly its permissions on `container`, an Organization or a Team."""
    rows: Any = get_group_obj_perms_model(container)
    content_type = ContentType.objects.get_for_model(container)
    permissions = {p.codename: p for p in DjangoPermission.objects.filter(content_type=content_type)}
    wanted = {
        (role_group(organization, role).pk, permissions[permission.value].pk)
        for role, held in ROLE_PERMISSIONS.items()
        for permission in held
    }
    groups = [role_group(organization, role).pk for role in Role]
    held = rows.objects.filter(content_object=container, group__in=groups)
    columns = held.values_list("pk", "group_id", "permission_id")
    present = {(group, permission): pk for pk, group, permission in columns}
    rows.objects.filter(pk__in=[pk for key, pk in present.items() if key not in wanted]).delete()
    rows.objects.bulk_create(
        rows(content_object=container, group_id=group, permission_id=permission)
        for group, permission in sorted(wanted - set(present), key=str)
    )


def derive_groups(organization: UUID) -> None:
    """Puts every member into the group of their role and nobody else into any of them."""
    for role in Role:
        members = User.objects.filter(memberships__organization_id=organization, memberships__role=role.value)
        role_group(organization, role).user_set.set(members)
