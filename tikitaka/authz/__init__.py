"""Who may do what: permissions, the roles that hold them, and the forbids that win over any role."""

from tikitaka.authz.decide import Allowed, Context, Denied, decide
from tikitaka.authz.permissions import ROLE_PERMISSIONS, Permission, Role
from tikitaka.authz.principals import Principal, PrincipalKind
from tikitaka.authz.tokens import MACHINE_SCOPES, Credential, TokenGrant, TokenKind, read_token

__all__ = [
    "MACHINE_SCOPES",
    "ROLE_PERMISSIONS",
    "Allowed",
    "Context",
    "Credential",
    "Denied",
    "Permission",
    "Principal",
    "PrincipalKind",
    "Role",
    "TokenGrant",
    "TokenKind",
    "decide",
    "read_token",
]
