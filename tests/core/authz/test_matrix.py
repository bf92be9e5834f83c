"""The table of roles and permissions beside its twin: a change of one without the other fails."""

from __future__ import annotations

import uuid

import pytest

from tikitaka.authz import (
    ROLE_PERMISSIONS,
    Allowed,
    Context,
    Denied,
    Permission,
    Principal,
    PrincipalKind,
    Role,
    decide,
)
from tikitaka.authz.decide import DenyReason

# permission: owner, reviewer, operator, auditor
TWIN = {
    "view_organization_work": "yyyy",
    "manage_members": "y...",
    "manage_tokens": "y...",
    "manage_teams": "y.y.",
    "pause_work": "y.y.",
    "set_budget": "y...",
    "run_task": "y.y.",
    "lease_node": "y...",
    "import_work": "y.y.",
    "read_note": "yy.y",
    "write_note": "yy..",
    "decide_note": "yy..",
    "revoke_note": "yy..",
    "close_incident": "yyy.",
    "read_ledger": "y..y",
    "verify_ledger": "y..y",
}
ROLES = [Role.OWNER, Role.REVIEWER, Role.OPERATOR, Role.AUDITOR]
PERSON = Principal(kind=PrincipalKind.USER, id=uuid.uuid4(), name="person")
ALL = frozenset(Permission)


def test_the_table_equals_its_twin_both_ways() -> None:
    assert set(TWIN) == {permission.value for permission in Permission}
    for permission in Permission:
        held = "".join("y" if permission in ROLE_PERMISSIONS[role] else "." for role in ROLES)
        assert held == TWIN[permission.value], permission


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("permission", list(Permission))
def test_a_role_is_allowed_exactly_what_it_holds(role: Role, permission: Permission) -> None:
    verdict = decide(PERSON, permission, ROLE_PERMISSIONS[role])
    assert isinstance(verdict, Allowed) == (permission in ROLE_PERMISSIONS[role])


def test_an_auditor_changes_nothing() -> None:
    changing = {p for p in Permission if not p.value.startswith(("view", "read", "verify"))}
    assert not ROLE_PERMISSIONS[Role.AUDITOR] & changing


@pytest.mark.parametrize(
    ("permission", "context", "reason"),
    [
        (Permission.NOTE_DECIDE, Context(authors=frozenset({PERSON.id})), DenyReason.AUTHOR_DECIDES_NOT),
        (Permission.NOTE_DECIDE, Context(submitters=frozenset({PERSON.id})), DenyReason.SUBMITTER_DECIDES_NOT),
        (Permission.MEMBERS_MANAGE, Context(grantee=PERSON.id), DenyReason.OWN_ROLE),
    ],
)
def test_a_forbid_beats_every_grant(permission: Permission, context: Context, reason: DenyReason) -> None:
    verdict = decide(PERSON, permission, ALL, context)
    assert isinstance(verdict, Denied)
    assert verdict.reasons == (reason,)


@pytest.mark.parametrize("kind", [kind for kind in PrincipalKind if kind is not PrincipalKind.USER])
@pytest.mark.parametrize(
    "permission", [Permission.NOTE_DECIDE, Permission.NOTE_REVOKE, Permission.MEMBERS_MANAGE, Permission.TOKENS_MANAGE]
)
def test_machines_never_decide(kind: PrincipalKind, permission: Permission) -> None:
    verdict = decide(Principal(kind=kind, id=uuid.uuid4(), name="machine"), permission, ALL)
    assert isinstance(verdict, Denied)
    assert DenyReason.MACHINES_NEVER_DECIDE in verdict.reasons


def test_whoever_is_inactive_may_nothing() -> None:
    verdict = decide(
        Principal(kind=PrincipalKind.USER, id=uuid.uuid4(), name="gone", active=False), Permission.TASK_RUN, ALL
    )
    assert isinstance(verdict, Denied)
