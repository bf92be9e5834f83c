"""People, organizations and memberships. The membership is the source of truth; guardian rows are derived from it."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase
from guardian.utils import get_group_obj_perms_model

from apps.ledger.ids import new_id
from apps.ledger.rows import table
from apps.ledger.sql import fetch
from tikitaka.authz import Permission, Role, TokenKind

# The codenames on Organization and on Team: the permissions of the core, word for word.
OBJECT_PERMISSIONS: list[tuple[str, Any]] = [
    (permission.value, permission.value.replace("_", " ")) for permission in Permission
]


@cache
def held_rows(model: type[models.Model]) -> str:
    """What the role groups of one person, the first parameter, hold on rows of a model, from guardian's rows alone.

    The end of a SELECT: `p.codename` is held on `r.content_object_id`.
    """
    return (
        f"FROM {table(get_group_obj_perms_model(model()))} r JOIN auth_permission p ON p.id = r.permission_id"
        " JOIN accounts_user_groups g ON g.group_id = r.group_id WHERE g.user_id = %s"
    )


def codenames_held(user: UUID, container: models.Model) -> frozenset[str]:
    """What the person's role groups hold on an organization or a team."""
    held = f"SELECT p.codename {held_rows(type(container))} AND r.content_object_id = %s"
    return frozenset(codename for (codename,) in fetch(held, [user, container.pk]))


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


class ServiceToken(models.Model):
    """A bearer token of a machine. The secret is shown once; its digest is kept.

    `teams` is null for all teams of the organization. What it is bound to is named by plain ids: the apps above own
    the rows.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="tokens")
    kind = models.CharField(max_length=8, choices=[(kind.value, kind.value) for kind in TokenKind])
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=12, unique=True)
    secret_digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    teams = models.JSONField(null=True)
    agent_id = models.UUIDField(null=True)
    attempt_id = models.UUIDField(null=True, db_index=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind.value for kind in TokenKind]), name="accounts_token_kind"
            ),
            models.CheckConstraint(
                condition=models.Q(kind="service", agent_id=None, attempt_id=None)
                | models.Q(kind="agent", agent_id__isnull=False, attempt_id=None)
                | models.Q(kind="attempt", agent_id__isnull=False, attempt_id__isnull=False),
                name="accounts_token_is_bound",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (tk_{self.prefix})"


class OrganizationUserObjectPermission(UserObjectPermissionBase):
    """guardian's rows for single users; the product writes none, grants go through role groups."""

    content_object = models.ForeignKey(Organization, on_delete=models.CASCADE)


class OrganizationGroupObjectPermission(GroupObjectPermissionBase):
    """guardian's rows: what the role group of an organization holds on it."""

    content_object = models.ForeignKey(Organization, on_delete=models.CASCADE)
