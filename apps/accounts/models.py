"""People, organizations and memberships. The membership is the source of truth; guardian rows are derived from it."""

from __future__ import annotations

from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase
from guardian.utils import get_group_obj_perms_model

from apps.ledger.ids import new_id
from tikitaka.authz import Permission, Role

# The codenames on Organization and on Team: the permissions of the core, word for word.
OBJECT_PERMISSIONS: list[tuple[str, Any]] = [
    (permission.value, permission.value.replace("_", " ")) for permission in Permission
]


def codenames_held(user: UUID, container: models.Model) -> frozenset[str]:
    """What the person's role groups hold on an organization or a team, from guardian's rows alone."""
    rows: Any = get_group_obj_perms_model(container)
    held = rows.objects.filter(content_object=container, group__user=user)
    return frozenset(held.values_list("permission__codename", flat=True))


class User(AbstractUser):
    """A person. The superuser flag opens the admin's maintenance pages and grants none of our permissions."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(blank=True)

    objects: ClassVar[UserManager[Self]] = UserManager()

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Django answers yes to everything for a superuser; our own permissions are never answered that way."""
        codename = perm.rsplit(".", maxsplit=1)[-1]
        if codename in dict(OBJECT_PERMISSIONS):
            return obj is not None and self.is_active and codename in codenames_held(self.pk, obj)
        return super().has_perm(perm, obj)

    def __str__(self) -> str:
        return self.get_full_name() or self.username


class Organization(models.Model):
    """A tenant."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=80)
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        permissions = OBJECT_PERMISSIONS

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One person's one role in an organization."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=[(role.value, role.value) for role in Role])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "user"], name="accounts_one_role_per_organization"),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in Role]), name="accounts_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.organization}"


class OrganizationUserObjectPermission(UserObjectPermissionBase):
    """guardian's rows for single users; the product writes none, grants go through role groups."""

    content_object = models.ForeignKey(Organization, on_delete=models.CASCADE)


class OrganizationGroupObjectPermission(GroupObjectPermissionBase):
    """guardian's rows: what the role group of an organization holds on it."""

    content_object = models.ForeignKey(Organization, on_delete=models.CASCADE)
