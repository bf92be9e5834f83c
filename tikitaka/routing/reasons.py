"""The named reasons for which an agent is not given a note."""

from __future__ import annotations

from enum import StrEnum


class WithholdReason(StrEnum):
    """Why a verdict is `withheld`; the same word stands on the screen, in the ledger and in the tests."""

    BELOW_THRESHOLD = "below_threshold"
    NOT_PARTICIPANT = "not_participant"
    RECOGNIZER_ERROR = "recognizer_error"
    SKILL_KEY_COLLISION = "skill_key_collision"
    AUDIENCE_EXCLUDED = "audience_excluded"
    NO_CLEARANCE = "no_clearance"
    COMPARTMENT_UNCLEAR = "compartment_unclear"
    OUTSIDE_GROUP = "outside_group"
    QUARANTINED = "quarantined"
    REJECTED_BY_REVIEWER = "rejected_by_reviewer"
    NARROWED_BY_EDIT = "narrowed_by_edit"
    REVIEW_EXPIRED = "review_expired"
    AGENT_RETIRED = "agent_retired"
    LANDING_FAILED = "landing_failed"
    REVOKED = "revoked"
