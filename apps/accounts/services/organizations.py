"""Founding and pausing organizations."""

from __future__ import annotations

from uuid import UUID

from django.utils import timezone

from apps.accounts.models import Membership, Organization, User
from apps.accounts.services.authorize import authorize
from apps.accounts.services.grants import derive_grants, derive_groups
from apps.ledger.ids import new_id
from apps.ledger.services import recording
from tikitaka.authz import Permission, Principal, Role
from tikitaka.errors import NotFound
from tikitaka.ledger.events import MemberAdded, OrganizationPaused, OrganizationUnpaused
from tikitaka.policy import DEFAULT
from tikitaka.text import require


def found_organization(*, actor: Principal, name: str, owner: User) -> Organization:
    """A new tenant with its first owner and its own log."""
    name = require("name", name.strip(), limit=DEFAULT.name_chars, multiline=False)
    organization = Organization(id=new_id(), name=name)

    with recording(organization.pk, actor=actor.actor) as ledger:
        organization.save(force_insert=True)
        Membership.objects.create(organization=organization, user=owner, role=Role.OWNER.value)
        derive_grants(organization, organization.pk)
        derive_groups(organization.pk)
        ledger.record(MemberAdded(user=owner.pk, role=Role.OWNER.value))
    return organization


def pause_organization(*, actor: Principal, organization: UUID, paused: bool) -> Organization:
    """The stop switch: no dispatch, no landing, no grants while it is on. Setting it twice changes nothing."""
    found = Organization.objects.filter(pk=organization).first()
    if found is None:
        raise NotFound("no such organization")
    authorize(actor, Permission.WORK_PAUSE, found, organization=found.pk, object_id=found.pk)

    with recording(found.pk, actor=actor.actor) as ledger:
        changed = Organization.objects.filter(pk=found.pk, paused_at__isnull=paused).update(
            paused_at=timezone.now() if paused else None
        )
        if changed:
            ledger.record(
                OrganizationPaused(organization=found.pk) if paused else OrganizationUnpaused(organization=found.pk)
            )
    found.refresh_from_db()
    return found
