"""Landing an approved note: intents saved, every file written and read back, then active. All recipients or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import F, Q

from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import Recorder, recording
from apps.memory.models import FileKind, Landing, LandingStatus, Note, Recipient
from apps.memory.selectors import LIVE_LANDINGS
from apps.memory.services.landing.record import as_landed
from apps.memory.services.landing.remove import fail_landing, remove_landing, request_removal
from apps.memory.services.landing.skills import keep_catalogue
from apps.memory.services.landing.taken import still_belongs, taken_keys
from apps.memory.services.landing.write import WriteRefused, write_landing
from apps.memory.services.notes import hold_again, note_digest
from apps.teams.hosts import require_here, require_still_here, teams_here
from apps.teams.models import Agent, Team
from apps.teams.selectors import is_paused, team_agents
from tikitaka.landing.drift import block_digest
from tikitaka.landing.files import INSTRUCTIONS_FILE, block_body, instructions_body, skill_file
from tikitaka.ledger.events import LandingIntended, NoteActivated, RecipientGranted
from tikitaka.notes.contract import Severity
from tikitaka.policy import Policy
from tikitaka.review.edits import RecipientsRefused, check_recipients
from tikitaka.review.states import NoteStatus, NoteStep, next_status
from tikitaka.review.triggers import ReviewReason
from tikitaka.routing.reasons import WithholdReason

_CLAIM_S = 60
_RETRY_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """The note is active: every recipient's file holds it."""

    note: UUID
    agents: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingHeld:
    """No recipient has the note; `agent` is where it stopped, `again` whether a sweep tries anew."""

    note: UUID
    reason: str
    agent: UUID | None
    again: bool


def land_note(*, note: UUID, policy: Policy) -> Landed | LandingHeld | None:
    """Takes an approved note through to active; None when there is nothing to take (decided, paused, held).

    Refused where the team's folders lie on another host.
    """
    claimed = _claim(note)
    if claimed is None:
        return None
    row, claim = claimed
    taken = taken_keys(row)
    held = _held(row, claim, taken, policy=policy)
    if held is not None:
        return held
    intended = _intend(row, claim, joining=taken)
    if intended is None:
        return _try_later(row, claim, "skill_key_taken")
    landings, new = intended
    done = _write_all(row, claim, landings, new, policy=policy) or _activate(row, claim, landings)
    for landing in landings:
        keep_catalogue(agent=landing.agent_id)
    return done


def _held(row: Note, claim: int, taken: Mapping[UUID, str], *, policy: Policy) -> LandingHeld | None:
    """What keeps the note from landing before anything is written."""
    refused = _refusal(row)
    if refused is not None:
        return _give_back(row, claim, refused, None, policy=policy)
    if _removal_pending(row):
        return _try_later(row, claim, "removal_pending")
    for agent, key in taken.items():
        if not still_belongs(row, agent, key, policy=policy):
            return _give_back(row, claim, WithholdReason.SKILL_KEY_COLLISION.value, agent, policy=policy)
    return None


def _write_all(
    row: Note, claim: int, landings: Sequence[Landing], new: Collection[UUID], *, policy: Policy
) -> LandingHeld | None:
    """Writes one file after the other; the first that cannot be written takes the others back."""
    unwritten = set(new)
    for landing in landings:
        waits = landing.status == LandingStatus.INTENDED
        fault = write_landing(landing, claim=claim, policy=policy) if waits else None
        if fault is None or fault.touched:
            unwritten.discard(landing.pk)
        if fault is not None:
            _undo(row, claim, landings, landing, fault, unwritten=unwritten, policy=policy)
            if fault.transient:
                return _try_later(row, claim, fault.reason, landing.agent_id)
            return _give_back(row, claim, fault.reason, landing.agent_id, policy=policy)
    return None


def _claim(note: UUID) -> tuple[Note, int] | None:
    for host in Note.objects.filter(pk=note).values_list("team__host", flat=True):
        require_here(host)
    now = clock.now()
    free = Q(landing_until__isnull=True) | Q(landing_until__lt=now)
    changed = Note.objects.filter(free, pk=note, status=NoteStatus.APPROVED.value, team__in=teams_here()).update(
        landing_claim=F("landing_claim") + 1, landing_until=now + timedelta(seconds=_CLAIM_S)
    )
    if not changed:
        return None
    row = Note.objects.select_related("team__organization").get(pk=note)
    team: Team = row.team
    if is_paused(team):
        Note.objects.filter(pk=note, landing_claim=row.landing_claim).update(landing_until=None)
        return None
    return row, row.landing_claim


def _refusal(note: Note) -> str | None:
    """The boundary, checked again where every landing crosses it: exact content, and recipients inside the team."""
    if note_digest(note) != note.content_digest:
        return "content_changed"
    granted = Recipient.objects.filter(note=note, verdict="granted")
    allowed = check_recipients(list(granted.values_list("agent_id", flat=True)), team_agents=team_agents(note.team_id))
    if isinstance(allowed, RecipientsRefused):
        return allowed.reason.value
    if note.severity != Severity.SEVERE and granted.exclude(placement__in=("existing", "new")).exists():
        return "no_placement"
    return None


def _removal_pending(note: Note) -> bool:
    """True while a block of this note still has to go from somewhere: first out, then in again."""
    return Landing.objects.filter(note=note, status__in=LIVE_LANDINGS, remove_requested_at__isnull=False).exists()


def _intend(note: Note, claim: int, *, joining: Collection[UUID]) -> tuple[list[Landing], set[UUID]] | None:
    """The landings of a note, and which are new; after a crash the same rows come back, written or not.

    None when a new skill was taken since somebody looked; of two notes that make the same one, the second waits.
    Agents are locked before notes, here as everywhere, so that who gets the note is asked again behind both.
    """
    new: set[UUID] = set()
    recipients = Recipient.objects.filter(note=note, verdict="granted")
    with recording(note.organization_id) as ledger:
        agents = Agent.objects.select_for_update(no_key=True).filter(pk__in=recipients.values("agent_id"))
        locked = set(agents.order_by("pk").values_list("pk", flat=True))
        if not Note.objects.select_for_update().filter(pk=note.pk, landing_claim=claim).exists():
            return [], new
        if recipients.exclude(agent__in=locked).exists():
            return [], new
        require_still_here(note.team_id, note.team.host)
        if not set(taken_keys(note)) <= set(joining):
            return None
        live = {
            landing.agent_id: landing
            for landing in Landing.objects.filter(note=note, status__in=LIVE_LANDINGS).select_related("note")
        }
        for recipient in recipients.order_by("agent__position"):
            if recipient.agent_id not in live:
                live[recipient.agent_id] = _new_landing(note, recipient, ledger)
                new.add(live[recipient.agent_id].pk)
    return list(live.values()), new


def _new_landing(note: Note, recipient: Recipient, ledger: Recorder) -> Landing:
    severe = note.severity == Severity.SEVERE
    landing = Landing(
        id=new_id(),
        organization_id=note.organization_id,
        note=note,
        agent_id=recipient.agent_id,
        file=INSTRUCTIONS_FILE if severe else skill_file(recipient.placement_key),
        kind=FileKind.INSTRUCTIONS if severe else FileKind.OWN_SKILL,
        intended_at=clock.now(),
    )
    landing.block_digest = _digest_in_file(landing)
    landing.save(force_insert=True)
    ledger.record(
        LandingIntended(
            landing=landing.pk,
            team=note.team_id,
            note=note.pk,
            agent=landing.agent_id,
            file=landing.file,
            block_digest=landing.block_digest,
        )
    )
    return landing


def _digest_in_file(landing: Landing) -> str:
    shown = as_landed(landing)
    return block_digest(instructions_body(shown) if landing.file == INSTRUCTIONS_FILE else block_body(shown))


def _activate(note: Note, claim: int, landings: Sequence[Landing]) -> Landed | LandingHeld:
    """Active only when every granted recipient holds it at this moment; otherwise somebody decided meanwhile."""
    agents = tuple(sorted(landing.agent_id for landing in landings))
    with recording(note.organization_id) as ledger:
        granted = list(Recipient.objects.filter(note=note, verdict="granted").order_by("agent_id"))
        landed = Landing.objects.filter(note=note, status=LandingStatus.LANDED, remove_requested_at__isnull=True)
        holders = set(landed.values_list("agent_id", flat=True))
        complete = bool(granted) and {recipient.agent_id for recipient in granted} == holders
        if complete and _set_active(note, claim):
            for recipient in granted:
                ledger.record(_granted_event(note, recipient))
            ledger.record(
                NoteActivated(note=note.pk, team=note.team_id, content_digest=note.content_digest, recipients=agents)
            )
            return Landed(note=note.pk, agents=agents)
    Note.objects.filter(pk=note.pk, landing_claim=claim).update(landing_until=None)
    return LandingHeld(note=note.pk, reason="decided_meanwhile", agent=None, again=False)


def _set_active(note: Note, claim: int) -> bool:
    open_note = Note.objects.filter(
        pk=note.pk, status=NoteStatus.APPROVED.value, landing_claim=claim, version=note.version
    )
    return bool(
        open_note.update(
            status=next_status(NoteStatus.APPROVED, NoteStep.ACTIVATE),
            activated_at=clock.now(),
            landing_until=None,
            landing_fault="",
        )
    )


def _granted_event(note: Note, recipient: Recipient) -> RecipientGranted:
    return RecipientGranted(
        note=note.pk,
        team=note.team_id,
        recipient=recipient.agent_id,
        match_kind=recipient.match_kind or None,
        score_bp=recipient.score_bp,
        threshold_bp=recipient.threshold_bp,
    )


def _undo(
    note: Note,
    claim: int,
    landings: Sequence[Landing],
    failed: Landing,
    fault: WriteRefused,
    *,
    unwritten: Collection[UUID],
    policy: Policy,
) -> None:
    """None has it: what may lie in a file is taken back, by the sweep if not now; what surely does not has failed."""
    with recording(note.organization_id) as ledger:
        if not Note.objects.select_for_update().filter(pk=note.pk, landing_claim=claim).exists():
            return  # another worker took the note over, and these landings are its own
        for landing in landings:
            reason = fault.reason if landing.pk == failed.pk else "other_recipient_failed"
            if landing.pk in unwritten:
                fail_landing(landing, reason, ledger)
            else:
                Landing.objects.filter(pk=landing.pk, status=LandingStatus.INTENDED).update(fault=reason)
        request_removal(landings=[landing.pk for landing in landings])
    for landing in landings:
        remove_landing(landing=landing.pk, policy=policy)


def _try_later(note: Note, claim: int, reason: str, agent: UUID | None = None) -> LandingHeld:
    """A fault that may pass: the sweep comes back to the note."""
    Note.objects.filter(pk=note.pk, status=NoteStatus.APPROVED.value, landing_claim=claim).update(
        landing_until=clock.now() + timedelta(seconds=_RETRY_S), landing_fault=reason
    )
    return LandingHeld(note=note.pk, reason=reason, agent=agent, again=True)


def _give_back(note: Note, claim: int, reason: str, agent: UUID | None, *, policy: Policy) -> LandingHeld:
    """A fault that only a person can mend: the note waits for one again."""
    name = Agent.objects.filter(pk=agent).values_list("name", flat=True).first() if agent else None
    with recording(note.organization_id) as ledger:
        changed = Note.objects.filter(pk=note.pk, status=NoteStatus.APPROVED.value, landing_claim=claim).update(
            status=next_status(NoteStatus.APPROVED, NoteStep.FAIL_LANDING),
            landing_until=None,
            landing_fault=f"{reason}: {name}" if name else reason,
        )
        if changed:
            note.refresh_from_db()
            hold_again(note=note, reason=ReviewReason.LANDING_FAILED, ledger=ledger, policy=policy)
    return LandingHeld(note=note.pk, reason=reason, agent=agent, again=False)
