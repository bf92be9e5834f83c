"""The life of a note as a table: from which state which step leads where. Any other step is refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class NoteStatus(StrEnum):
    """`approved` is decided and not yet landed for everybody; `active` is landed for all its recipients."""

    CANDIDATE = "candidate"
    PENDING = "pending"
    QUARANTINED = "quarantined"
    APPROVED = "approved"
    ACTIVE = "active"
    REJECTED = "rejected"
    REVOKED = "revoked"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


class NoteStep(StrEnum):
    """What can happen to a note."""

    HOLD = "hold"
    QUARANTINE = "quarantine"
    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    ACTIVATE = "activate"
    FAIL_LANDING = "fail_landing"
    REVOKE = "revoke"
    EXPIRE = "expire"


_S, _T = NoteStatus, NoteStep

NOTE_STEPS: Mapping[tuple[NoteStatus, NoteStep], NoteStatus] = MappingProxyType(
    {
        (_S.CANDIDATE, _T.HOLD): _S.PENDING,
        (_S.CANDIDATE, _T.QUARANTINE): _S.QUARANTINED,
        (_S.CANDIDATE, _T.APPROVE): _S.APPROVED,
        (_S.PENDING, _T.APPROVE): _S.APPROVED,
        (_S.QUARANTINED, _T.APPROVE): _S.APPROVED,
        (_S.PENDING, _T.EDIT): _S.PENDING,
        (_S.QUARANTINED, _T.EDIT): _S.PENDING,
        (_S.PENDING, _T.QUARANTINE): _S.QUARANTINED,
        (_S.PENDING, _T.REJECT): _S.REJECTED,
        (_S.QUARANTINED, _T.REJECT): _S.REJECTED,
        (_S.APPROVED, _T.ACTIVATE): _S.ACTIVE,
        (_S.APPROVED, _T.FAIL_LANDING): _S.PENDING,
        (_S.APPROVED, _T.REVOKE): _S.REVOKED,
        (_S.ACTIVE, _T.REVOKE): _S.REVOKED,
        (_S.PENDING, _T.REVOKE): _S.REVOKED,
        (_S.QUARANTINED, _T.REVOKE): _S.REVOKED,
        (_S.ACTIVE, _T.EXPIRE): _S.EXPIRED,
        (_S.APPROVED, _T.EXPIRE): _S.EXPIRED,
    }
)


def next_status(status: NoteStatus, step: NoteStep) -> NoteStatus | None:
    """Where `step` leads from `status`; None when it is not allowed there."""
    return NOTE_STEPS.get((status, step))
