"""Who may do what: permissions, the roles that hold them, and the forbids that win over any role."""

from tikitaka.authz.decide import Allowed, Context, Denied, decide
from tikitaka.authz.permissions import ROLE_PERMISSIONS, Permission, Role
from tikitaka.authz.principals import Principal, PrincipalKind

__all__ = [
    "ROLE_PERMISSIONS",
    "Allowed",
    "Context",
    "Denied",
    "Permission",
    "Principal",
    "PrincipalKind",
    "Role",
    "decide",
]
