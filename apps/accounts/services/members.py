"""Who belongs to an organization, and as what."""

from __future__ import annotations

from uuid import UUID

from apps.accounts.models import Membership, Organization, User
from apps.accounts.services.authorize import authorize
from apps.accounts.services.grants import derive_groups
from apps.ledger.services import recording
from tikitaka.authz import Context, Permission, Principal, Role
from tikitaka.errors import NotFound, WrongState
from tikitaka.ledger.events import MemberAdded, MemberRemoved, RoleGranted


class LastOwner(WrongState):
    """An organization keeps at least one owner."""

    code = "last_owner"


def set_role(*, actor: Principal, organization: Organization, user: User, role: Role) -> Membership:
    """Adds a person or changes their role; nobody changes their own."""
    _may_manage(actor, organization, user)

    with recording(organization.pk, actor=actor.actor) as ledger:
        membership = Membership.objects.select_for_update().filter(organization=organization, user=user).first()
        if membership is None:
            membership = Membership.objects.create(organization=organization, user=user, role=role.value)
            ledger.record(MemberAdded(user=user.pk, role=role.value))
        elif membership.role != role.value:
            _keep_an_owner(organization.pk, membership)
            before, membership.role = membership.role, role.value
            membership.save(update_fields=["role"])
            ledger.record(RoleGranted(user=user.pk, role=role.value, role_before=before))
        derive_groups(organization.pk)
    return membership


def remove_member(*, actor: Principal, organization: Organization, user: User) -> None:
    """Ends a membership; what the person did stays in the log."""
    _may_manage(actor, organization, user)

    with recording(organization.pk, actor=actor.actor) as ledger:
        membership = Membership.objects.select_for_update().filter(organization=organization, user=user).first()
        if membership is None:
            raise NotFound("no such member")
        _keep_an_owner(organization.pk, membership)
        membership.delete()
        derive_groups(organization.pk)
        ledger.record(MemberRemoved(user=user.pk, role=membership.role))


def _may_manage(actor: Principal, organization: Organization, user: User) -> None:
    authorize(
        actor,
        Permission.MEMBERS_MANAGE,
        organization,
        organization=organization.pk,
        object_id=user.pk,
        context=Context(grantee=user.pk),
    )


def _keep_an_owner(organization: UUID, membership: Membership) -> None:
    owners = Membership.objects.filter(organization_id=organization, role=Role.OWNER.value)
    if membership.role == Role.OWNER.value and not owners.exclude(pk=membership.pk).exists():
        raise LastOwner
