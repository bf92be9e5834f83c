"""The reasons why a note waits for a person, worst first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tikitaka.policy import Policy


class ReviewReason(StrEnum):
    """The order of the members is the order in which reasons are shown."""

    QUARANTINED = "quarantined"
    SEVERE = "severe"
    REDACTED = "redacted"
    AUDIENCE_WORDS = "audience_words"
    POSSIBLE_UPDATE = "possible_update"
    FALLBACK = "fallback"
    NEW_SKILL = "new_skill"
    WITHOUT_MODEL = "without_model"
    WRITTEN_BY_PERSON = "written_by_person"
    PROPOSED_BY_AGENT = "proposed_by_agent"
    EDITED = "edited"
    LANDING_FAILED = "landing_failed"
    REVIEW_ALL = "review_all"
    NO_PROMOTED_RECOGNIZER = "no_promoted_recognizer"
    NOBODY = "nobody"


EXPLANATIONS = {
    ReviewReason.QUARANTINED: "The text looks like an instruction to an agent rather than a fact.",
    ReviewReason.SEVERE: "A severe note is always in front of its recipients.",
    ReviewReason.REDACTED: "Something that looks like a secret was replaced.",
    ReviewReason.AUDIENCE_WORDS: "The text itself says who may or may not know it.",
    ReviewReason.POSSIBLE_UPDATE: "It may change what another note says.",
    ReviewReason.FALLBACK: "No agent scored above the threshold; the best one is proposed.",
    ReviewReason.NEW_SKILL: "It would create a skill that its recipient does not have yet.",
    ReviewReason.WITHOUT_MODEL: "The sentence was picked by a classifier, without a language model.",
    ReviewReason.WRITTEN_BY_PERSON: "A person wrote it; somebody else approves it.",
    ReviewReason.PROPOSED_BY_AGENT: "An agent handed it in while it worked; no model distilled it.",
    ReviewReason.EDITED: "It was edited after it was proposed.",
    ReviewReason.LANDING_FAILED: "It was approved, but a file refused it; nothing was written.",
    ReviewReason.REVIEW_ALL: "Everything is reviewed in this installation.",
    ReviewReason.NO_PROMOTED_RECOGNIZER: "No calibration measured on human labels has been promoted.",
    ReviewReason.NOBODY: "No agent would receive it as things stand.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFacts:
    """What the triggers look at."""

    severe: bool
    redacted: bool
    quarantined: bool
    fallback: bool
    new_skill: bool
    audience_words: bool = False
    possible_update: bool = False
    without_model: bool = False
    written_by_person: bool = False
    proposed_by_agent: bool = False
    edited: bool = False
    landing_failed: bool = False
    recipients: int = 1


def review_reasons(facts: NoteFacts, *, policy: Policy) -> tuple[ReviewReason, ...]:
    """Every reason that applies; an empty tuple means that the note may be granted without a person."""
    found = {
        ReviewReason.QUARANTINED: facts.quarantined,
        ReviewReason.SEVERE: facts.severe,
        ReviewReason.REDACTED: facts.redacted,
        ReviewReason.AUDIENCE_WORDS: facts.audience_words,
        ReviewReason.POSSIBLE_UPDATE: facts.possible_update,
        ReviewReason.FALLBACK: facts.fallback,
        ReviewReason.NEW_SKILL: facts.new_skill,
        ReviewReason.WITHOUT_MODEL: facts.without_model,
        ReviewReason.WRITTEN_BY_PERSON: facts.written_by_person,
        ReviewReason.PROPOSED_BY_AGENT: facts.proposed_by_agent,
        ReviewReason.EDITED: facts.edited,
        ReviewReason.LANDING_FAILED: facts.landing_failed,
        ReviewReason.REVIEW_ALL: policy.review_all,
        ReviewReason.NO_PROMOTED_RECOGNIZER: not policy.auto_grant,
        ReviewReason.NOBODY: facts.recipients == 0,
    }
    return tuple(reason for reason in ReviewReason if found[reason])
