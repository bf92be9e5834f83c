"""Who somebody is, what they hold, and the only way to an organization."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet

from apps.accounts.models import Organization, User, codenames_held, held_rows
from apps.ledger.rows import Ids, table
from apps.ledger.sql import marks
from tikitaka.authz import MACHINE_SCOPES, Permission, Principal, PrincipalKind, TokenGrant
from tikitaka.errors import NotFound


def principal_of(user: User, auth: Mapping[str, Any] | None = None) -> Principal:
    """A logged-in person as a principal; `auth` says how they proved who they are."""
    return Principal(
        kind=PrincipalKind.USER, id=user.pk, name=user.username, active=user.is_active, auth=dict(auth or {})
    )


def held_by(principal: Principal, container: Model) -> frozenset[Permission]:
    """What a principal holds on an organization or a team; a machine holds what its token was given."""
    if principal.grant is not None:
        return _held_by_token(principal.grant, container)
    if principal.kind is not PrincipalKind.USER or principal.id is None:
        return frozenset()
    codenames = codenames_held(principal.id, container)
    return frozenset(permission for permission in Permission if permission.value in codenames)


def containers_with(principal: Principal, permission: Permission, model: type[Model]) -> QuerySet[Any]:
    """The organizations or teams on which the principal holds `permission`."""
    rows: QuerySet[Any] = model._default_manager.all()  # noqa: SLF001 Django's documented name
    return rows.filter(pk__in=ids_with(principal, permission, model).expression())


def ids_with(principal: Principal, permission: Permission, model: type[Model]) -> Ids:
    """The ids of `containers_with`; hand-written, since every request asks for them."""
    if principal.kind is PrincipalKind.SYSTEM:
        return Ids(f"SELECT id FROM {table(model)}")  # noqa: S608 a constant
    if principal.grant is not None and principal.active:
        return _reached_by_token(principal.grant, permission, model)
    if principal.kind is not PrincipalKind.USER or not principal.active:
        return _none(model)
    held = f"SELECT r.content_object_id {held_rows(model)} AND p.codename = %s"
    return Ids(held, (principal.id, permission.value))


def _held_by_token(grant: TokenGrant, container: Model) -> frozenset[Permission]:
    reached = container.pk in _reached_ids(grant, container)
    return grant.scopes & MACHINE_SCOPES if reached else frozenset()


def _reached_ids(grant: TokenGrant, container: Model) -> Collection[UUID]:
    if isinstance(container, Organization):
        return {grant.organization} if grant.teams is None else ()
    if getattr(container, "organization_id", None) != grant.organization:
        return ()
    return {container.pk} if grant.teams is None else grant.teams


def _reached_by_token(grant: TokenGrant, permission: Permission, model: type[Model]) -> Ids:
    """A token for some teams reaches nothing of the organization as a whole."""
    beyond = grant.teams is not None and (model is Organization or not grant.teams)
    if beyond or permission not in grant.scopes & MACHINE_SCOPES:
        return _none(model)
    column = "id" if model is Organization else "organization_id"
    own = f"SELECT id FROM {table(model)} WHERE {column} = %s"  # noqa: S608 constants
    if grant.teams is None:
        return Ids(own, (grant.organization,))
    return Ids(f"{own} AND id IN ({marks(list(grant.teams))})", (grant.organization, *grant.teams))


def _none(model: type[Model]) -> Ids:
    return Ids(f"SELECT id FROM {table(model)} WHERE 1 = 0")  # noqa: S608 a constant


def access_organization(actor: Principal, organization: UUID, permission: Permission) -> Organization:
    """The organization; absent and forbidden give the same NotFound."""
    found = containers_with(actor, permission, Organization).filter(pk=organization).first()
    if found is None:
        raise NotFound("no such organization")
    result: Organization = found
    return result
