"""Everything that is decided about a note's text before it is saved: safety, who, where, and whether it is new.

Runs outside any transaction: it may ask the encoder and looks into workspaces.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import structlog

from apps.memory.models import Note
from apps.memory.services.landing.skills import skills_of
from apps.providers.embedding.remote import EncoderAway
from apps.providers.services.vectors import EncoderOff, vectors_for
from apps.teams.models import Team
from apps.teams.selectors import active_agents, profile
from tikitaka.landing.keys import fold_skill_key
from tikitaka.notes.contract import Severity
from tikitaka.notes.duplicates import ExistingNote, Verdict, compare
from tikitaka.policy import Policy
from tikitaka.ports import Vector
from tikitaka.review.states import NoteStatus
from tikitaka.routing import placement, profiles
from tikitaka.routing.calibration import calibration_in_force
from tikitaka.routing.eligibility import Eligibility, audience_exclusions
from tikitaka.routing.placement import SkillProfile, place
from tikitaka.routing.profiles import AgentProfile, NoteText
from tikitaka.routing.reasons import WithholdReason
from tikitaka.routing.recognition import CandidateScore, recognize
from tikitaka.safety import screen_fields
from tikitaka.text import cut, one_line

_REMEMBERED = (
    NoteStatus.PENDING,
    NoteStatus.QUARANTINED,
    NoteStatus.APPROVED,
    NoteStatus.ACTIVE,
    NoteStatus.REJECTED,
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedText:
    """A statement on its way to become a note."""

    content: str
    description: str
    rationale: str
    skill_key: str
    severity: Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedRecipient:
    """One agent's verdict; the field names are the columns of the recipient's row."""

    agent: UUID
    verdict: str
    reason: str = ""
    match_kind: str = ""
    score_bp: int | None = None
    threshold_bp: int | None = None
    placement: str = ""
    placement_key: str = ""
    placement_score_bp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """The text as it may be stored, what safety found, every agent's verdict, and what it may repeat or update."""

    content: str
    description: str
    rationale: str
    skill_key: str
    severity: Severity
    redacted: bool
    quarantined: bool
    findings: tuple[dict[str, Any], ...]
    audience_words: bool
    recipients: tuple[AssessedRecipient, ...]
    calibration: str
    duplicate_of: UUID | None
    possible_update_of: UUID | None

    @property
    def granted(self) -> frozenset[UUID]:
        return frozenset(item.agent for item in self.recipients if item.verdict == "granted")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Screened:
    """A statement after safety."""

    note: NoteText
    rationale: str
    skill_key: str
    severity: Severity
    redacted: bool
    quarantined: bool
    findings: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What statements are judged against: the team, its candidates' own skills, its notes, and all vectors."""

    agents: tuple[AgentProfile, ...]
    candidates: frozenset[str]
    skills: Mapping[str, Sequence[SkillProfile] | None]
    old: Mapping[UUID, str]
    vectors: Mapping[str, Vector]


def assess(
    text: ProposedText,
    *,
    team: Team,
    candidates: Collection[UUID],
    policy: Policy,
    itself: UUID | None = None,
) -> Assessed:
    """Screens, recognizes and places one statement. An error of the recognizer withholds; it never guesses."""
    return assess_all([text], team=team, candidates=candidates, policy=policy, itself=itself)[0]


def assess_all(
    texts: Sequence[ProposedText],
    *,
    team: Team,
    candidates: Collection[UUID],
    policy: Policy,
    itself: UUID | None = None,
) -> list[Assessed]:
    """The same for the statements of one flush: the team is looked at once, and one batch goes to the encoder."""
    screened = [_screen(text, policy) for text in texts]
    ground = _survey(team, {str(agent) for agent in candidates}, [item.note for item in screened], itself, policy)
    return [_judge(item, ground, policy) for item in screened]


def _screen(text: ProposedText, policy: Policy) -> _Screened:
    fields = screen_fields({"content": text.content, "description": text.description, "rationale": text.rationale})
    key = screen_fields({"skill_key": text.skill_key.replace("-", " ")})["skill_key"]
    content = fields["content"].text
    parts = [("skill_key", key), *fields.items()]
    return _Screened(
        note=NoteText(
            content=content, description=cut(one_line(fields["description"].text), policy.note_description_chars)
        ),
        rationale=cut(fields["rationale"].text, policy.note_rationale_chars),
        skill_key=text.skill_key if not key.findings else fold_skill_key("", content=content) or "",
        severity=text.severity,
        redacted=any(item.redacted for _, item in parts),
        quarantined=any(item.quarantined for _, item in parts) or not content.strip(),
        findings=tuple({"field": name, **asdict(f)} for name, item in parts for f in item.findings),
    )


def _survey(
    team: Team, candidates: Collection[str], notes: Sequence[NoteText], itself: UUID | None, policy: Policy
) -> _Ground:
    agents = tuple(profile(agent) for agent in active_agents(team.pk))
    own = skills_of([UUID(agent.key) for agent in agents if agent.key in candidates])
    skills = {str(agent): found for agent, found in own.items()}
    old = _old_notes(team, itself)
    wanted = [*old.values()]
    for note in notes:
        wanted += [note.content, *profiles.texts_to_embed(agents, note, score=policy.recognition_score)]
        wanted += [text for found in skills.values() for text in placement.texts_to_embed(note.whole, found or [])]
    return _Ground(
        agents=agents,
        candidates=frozenset(candidates),
        skills=skills,
        old=old,
        vectors=_vectors(list(dict.fromkeys(wanted))),
    )


def _judge(item: _Screened, ground: _Ground, policy: Policy) -> Assessed:
    note = item.note
    eligibility = audience_exclusions(f"{note.description}\n{note.content}", ground.agents)
    verdicts, calibration = _recognize(note, ground, eligibility, policy)
    repeats = _compare(note.content, ground, policy=policy)
    return Assessed(
        content=note.content,
        description=note.description,
        rationale=item.rationale,
        skill_key=item.skill_key,
        severity=item.severity,
        redacted=item.redacted,
        quarantined=item.quarantined,
        findings=item.findings,
        audience_words=eligibility.has_audience_words,
        recipients=tuple(_recipient(verdict, item, ground, policy=policy) for verdict in verdicts),
        calibration=calibration,
        duplicate_of=UUID(repeats.of) if repeats.kind == "duplicate" and repeats.of else None,
        possible_update_of=UUID(repeats.of) if repeats.kind == "possible_update" and repeats.of else None,
    )


def _recognize(
    note: NoteText, ground: _Ground, eligibility: Eligibility, policy: Policy
) -> tuple[tuple[CandidateScore, ...], str]:
    try:
        calibration = calibration_in_force(policy)
        found = recognize(
            note,
            ground.agents,
            ground.candidates,
            vectors=ground.vectors,
            calibration=calibration,
            eligibility=eligibility,
        )
    except Exception as error:
        log.exception("recognition failed", error=type(error).__name__)
        return tuple(_withheld(agent.key, ground.candidates, eligibility) for agent in ground.agents), "failed"
    return found.verdicts, found.calibration_version


def _withheld(key: str, candidates: Collection[str], eligibility: Eligibility) -> CandidateScore:
    """The verdict when nothing could be scored: what the words of the note exclude stays excluded."""
    reason = WithholdReason.RECOGNIZER_ERROR
    if key not in candidates:
        reason = WithholdReason.NOT_PARTICIPANT
    elif key in eligibility.excluded:
        reason = WithholdReason.AUDIENCE_EXCLUDED
    return CandidateScore(key=key, score_bp=None, threshold_bp=None, verdict="withheld", match_kind=None, reason=reason)


def _recipient(item: CandidateScore, statement: _Screened, ground: _Ground, *, policy: Policy) -> AssessedRecipient:
    base = AssessedRecipient(
        agent=UUID(item.key),
        verdict=item.verdict,
        reason=item.reason.value if item.reason else "",
        match_kind=item.match_kind or "",
        score_bp=item.score_bp,
        threshold_bp=item.threshold_bp,
    )
    if item.reason is WithholdReason.NOT_PARTICIPANT:
        return base
    if statement.severity is Severity.SEVERE:
        return _placed(base, "instructions", "", None)
    skills = ground.skills.get(item.key)
    if skills is None:
        return _placed(base, "", "", None, refusal=WithholdReason.RECOGNIZER_ERROR)
    found = place(
        note_text=statement.note.whole,
        proposed_key=statement.skill_key,
        own_skills=skills,
        vectors=ground.vectors,
        threshold_bp=policy.skill_threshold_bp,
    )
    return _placed(base, found.kind, found.skill_key, found.score_bp, refusal=found.reason)


def _placed(
    base: AssessedRecipient, kind: str, key: str, score_bp: int | None, *, refusal: WithholdReason | None = None
) -> AssessedRecipient:
    """A place that cannot be had turns a grant into a denial with its reason; another denial keeps its own."""
    refused = refusal is not None and base.verdict == "granted"
    return AssessedRecipient(
        agent=base.agent,
        verdict="withheld" if refused else base.verdict,
        reason=refusal.value if refused and refusal else base.reason,
        match_kind="" if refused else base.match_kind,
        score_bp=base.score_bp,
        threshold_bp=base.threshold_bp,
        placement=kind,
        placement_key=key,
        placement_score_bp=score_bp,
    )


def _vectors(texts: Sequence[str]) -> dict[str, Vector]:
    """Without an encoder there are no vectors, and then every candidate is withheld as an error of recognition.

    An encoder that is away for a while is no verdict: whoever asked tries again.
    """
    try:
        return dict(vectors_for(texts))
    except EncoderOff:
        return {}
    except EncoderAway:
        raise
    except Exception as error:
        log.exception("the encoder failed", error=type(error).__name__)
        return {}


def _old_notes(team: Team, itself: UUID | None) -> dict[UUID, str]:
    """The texts that a new statement may repeat or update."""
    rows = Note.objects.filter(team=team, status__in=[status.value for status in _REMEMBERED])
    return dict((rows.exclude(pk=itself) if itself else rows).values_list("pk", "content"))


def _compare(content: str, ground: _Ground, *, policy: Policy) -> Verdict:
    existing = [
        ExistingNote(id=str(pk), text=old, vector=ground.vectors.get(old, ())) for pk, old in ground.old.items()
    ]
    return compare(content, ground.vectors.get(content, ()), existing, policy=policy)
