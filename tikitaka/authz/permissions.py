"""The permissions and the one table that says which role holds which. Blank is denied."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Permission(StrEnum):
    """What can be granted on an organization or a team; the values are also the codenames of the guardian rows."""

    ORGANIZATION_VIEW = "view_organization_work"
    MEMBERS_MANAGE = "manage_members"
    TOKENS_MANAGE = "manage_tokens"
    TEAMS_MANAGE = "manage_teams"
    WORK_PAUSE = "pause_work"
    BUDGET_SET = "set_budget"
    TASK_RUN = "run_task"
    NODE_LEASE = "lease_node"
    WORK_IMPORT = "import_work"
    NOTE_VIEW = "read_note"
    NOTE_WRITE = "write_note"
    NOTE_DECIDE = "decide_note"
    NOTE_REVOKE = "revoke_note"
    INCIDENT_CLOSE = "close_incident"
    LEDGER_READ = "read_ledger"
    LEDGER_VERIFY = "verify_ledger"


class Role(StrEnum):
    """A membership's role; exactly one per person and organization, so nobody is auditor and actor at once."""

    OWNER = "owner"
    REVIEWER = "reviewer"
    OPERATOR = "operator"
    AUDITOR = "auditor"


ROLE_PERMISSIONS: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Permission),
        Role.REVIEWER: frozenset(
            {
                Permission.ORGANIZATION_VIEW,
                Permission.NOTE_VIEW,
                Permission.NOTE_WRITE,
                Permission.NOTE_DECIDE,
                Permission.NOTE_REVOKE,
                Permission.INCIDENT_CLOSE,
            }
        ),
        Role.OPERATOR: frozenset(
            {
                Permission.ORGANIZATION_VIEW,
                Permission.TEAMS_MANAGE,
                Permission.WORK_PAUSE,
                Permission.TASK_RUN,
                Permission.WORK_IMPORT,
                Permission.INCIDENT_CLOSE,
            }
        ),
        Role.AUDITOR: frozenset(
            {
                Permission.ORGANIZATION_VIEW,
                Permission.NOTE_VIEW,
                Permission.LEDGER_READ,
                Permission.LEDGER_VERIFY,
            }
        ),
    }
)
