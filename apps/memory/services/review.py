"""What a logged-in person may do to a note. One service for each decision, whatever page or program it comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.accounts.services.authorize import authorize
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.rows import equal, insert, instances, refresh
from apps.ledger.services import Recorder, aside, recording
from apps.ledger.sql import as_uuid, execute, fetch
from apps.memory.models import Decision, Note, Recipient, ReviewItem
from apps.memory.selectors import current_item
from apps.memory.services.assess import Assessed, ProposedText, assess
from apps.memory.services.notes import (
    NoteDraft,
    close_items,
    facts_of,
    note_digest,
    open_items,
    put_assessment,
    save_notes,
    save_recipients,
    seal_digest,
)
from apps.memory.services.recipients import assessed_rows, deny_newcomers, record_withheld, redirected
from apps.memory.services.withdraw import withdraw_note
from apps.teams.models import Team
from apps.teams.selectors import active_agents, team_agents
from tikitaka.authz import Context, Permission, Principal
from tikitaka.errors import Forbidden, Invalid, TikiTakaError, WrongState
from tikitaka.landing.keys import fold_skill_key
from tikitaka.ledger.events import DecisionRecorded, DecisionRefused, NoteEdited
from tikitaka.notes.contract import Severity
from tikitaka.policy import Policy
from tikitaka.review.edits import RecipientsRefused, check_recipients
from tikitaka.review.states import NoteStatus, NoteStep, next_status
from tikitaka.review.triggers import review_reasons
from tikitaka.routing.reasons import WithholdReason
from tikitaka.text import require

_WORDS = 500


class ContentChanged(WrongState):
    """What you were shown is no longer what is there; look again."""

    code = "content_changed"


class AlreadyDecided(WrongState):
    """Somebody decided this note before you."""

    code = "already_decided"


class RecipientsNotAllowed(TikiTakaError):
    """A note may go to active agents of its own team only."""

    code = "recipients_not_allowed"


class EditedMeanwhile(Forbidden):
    """Whoever edits does not approve."""

    code = "author_decides_not"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteText:
    """The text of a note as a person gives it."""

    content: str
    description: str
    skill_key: str = ""
    severity: Severity = Severity.NORMAL
    rationale: str = ""


def approve(
    *,
    actor: Principal,
    note: Note,
    shown_digest: str,
    recipients: Collection[UUID] | None = None,
    words: str = "",
) -> Note:
    """Approves exactly what was shown; `recipients` may leave out some of those who were proposed, and add nobody."""
    _authorize(actor, note)

    with _deciding(actor, note, "approved") as (locked, ledger):
        _still_not_author(actor, locked)
        item = _check_open(locked, shown_digest, NoteStep.APPROVE)
        deny_newcomers(team=locked.team_id, ledger=ledger, notes=[locked.pk])
        before = _granted(locked)
        after = before if recipients is None else frozenset(recipients)
        if not after <= before:
            raise RecipientsNotAllowed("an approval can leave recipients out; moving the note is an edit")
        _check_team(locked, after)
        if after != before:
            _withhold(locked, before - after, WithholdReason.NARROWED_BY_EDIT, ledger)
            seal_digest(locked)
        _decide(actor, locked, item, "approved", shown_digest, words, before, after, ledger)
        _step(locked, NoteStep.APPROVE, actor)
    refresh(note)
    return note


def reject(*, actor: Principal, note: Note, shown_digest: str, words: str) -> Note:
    """Nobody receives it; every agent who would have is told why in the log."""
    _authorize(actor, note)
    words = require("words", words, limit=_WORDS)

    with _deciding(actor, note, "rejected") as (locked, ledger):
        _still_not_author(actor, locked)
        item = _check_open(locked, shown_digest, NoteStep.REJECT)
        before = _granted(locked)
        _withhold(locked, before, WithholdReason.REJECTED_BY_REVIEWER, ledger)
        _decide(actor, locked, item, "rejected", shown_digest, words, before, frozenset(), ledger)
        _step(locked, NoteStep.REJECT, actor)
    refresh(note)
    return note


def edit(
    *,
    actor: Principal,
    note: Note,
    shown_digest: str,
    policy: Policy,
    text: NoteText | None = None,
    recipients: Collection[UUID] | None = None,
    words: str = "",
) -> Note:
    """Changes text or recipients of a waiting note. New text is screened, recognized and placed anew.

    Recipients may be narrowed or moved inside the team and never beyond it. Whoever edits does not approve,
    therefore an author may edit.
    """
    authorize(actor, Permission.NOTE_DECIDE, note.team, organization=note.organization_id, object_id=note.pk)
    if text is None and recipients is None:
        raise Invalid(text="nothing to change")
    team: Team = note.team
    with recording(note.organization_id) as ledger:
        deny_newcomers(team=team.pk, ledger=ledger, notes=[note.pk])
    proposed = proposed_text(text, policy) if text is not None else _as_proposed(note)
    candidates = {*_candidates(note), *(recipients or ())}  # whoever is chosen needs a place, participant or not
    assessed = assess(proposed, team=team, candidates=candidates, policy=policy, itself=note.pk)
    rows = assessed.recipients if text is not None else tuple(assessed_rows(note))

    with _deciding(actor, note, "edited") as (locked, ledger):
        item = _check_open(locked, shown_digest, NoteStep.EDIT)
        before, digest_before = _granted(locked), locked.content_digest
        after = frozenset(recipients) if recipients is not None else None
        if after is not None:
            excluded = {row.agent for row in assessed.recipients if row.reason == WithholdReason.AUDIENCE_EXCLUDED}
            _check_team(locked, after, excluded=excluded)
            _check_places(assessed, after)
            rows = redirected(rows, assessed.recipients, after)
        _save_edit(locked, assessed, rows, actor, text is not None, policy)
        record_withheld(locked, [row for row in rows if row.verdict == "withheld" and row.agent in before], ledger)
        _decide(actor, locked, item, "edited", shown_digest, words, before, _granted(locked), ledger)
        ledger.record(
            NoteEdited(
                note=locked.pk, team=locked.team_id, digest_before=digest_before, digest_after=locked.content_digest
            )
        )
        deny_newcomers(team=locked.team_id, ledger=ledger, notes=[locked.pk])
        open_items([locked], ledger=ledger, policy=policy)
    note.refresh_from_db()
    return note


def revoke(*, actor: Principal, note: Note, words: str) -> Note:
    """Takes a note back from everybody who holds it; the files are cleaned by conductor right after."""
    authorize(actor, Permission.NOTE_REVOKE, note.team, organization=note.organization_id, object_id=note.pk)
    words = require("words", words, limit=_WORDS)

    with _deciding(actor, note, "revoked") as (locked, ledger):
        before = _granted(locked)
        withdraw_note(note=locked, step=NoteStep.REVOKE, reason="revoked_by_person", ledger=ledger, words=words)
        _decide(actor, locked, None, "revoked", locked.content_digest, words, before, frozenset(), ledger)
    note.refresh_from_db()
    return note


def write_note(*, actor: Principal, team: Team, text: NoteText, policy: Policy) -> Note:
    """A note or a standing rule by a person: it goes the same way as any other, and its author does not approve it."""
    authorize(actor, Permission.NOTE_WRITE, team, organization=team.organization_id, object_id=team.pk)
    proposed = proposed_text(text, policy)
    everybody = list(active_agents(team.pk).values_list("pk", flat=True))
    assessed = assess(proposed, team=team, candidates=everybody, policy=policy)

    with recording(team.organization_id, actor=actor.actor) as ledger:
        (note,) = save_notes(
            [NoteDraft(assessed=assessed)],
            team=team,
            source="person",
            ledger=ledger,
            policy=policy,
            written_by=actor.id,
        )
    return note


@contextmanager
def _deciding(actor: Principal, note: Note, verdict: str) -> Iterator[tuple[Note, Recorder]]:
    """The note locked in a recording transaction; a refusal inside is an entry of its own after the rollback."""
    try:
        with recording(note.organization_id, actor=actor.actor) as ledger:
            (locked,) = instances(Note, equal("id", note.pk), lock=True).ask()
            locked.team = note.team
            yield locked, ledger
    except TikiTakaError as error:
        with aside(), recording(note.organization_id, actor=actor.actor) as ledger:
            ledger.record(DecisionRefused(note=note.pk, team=note.team_id, verdict=verdict, reason=error.code))
        raise


def _authors(note: Note) -> frozenset[UUID]:
    return frozenset(person for person in (note.written_by_id, note.edited_by_id) if person)


def _still_not_author(actor: Principal, locked: Note) -> None:
    """The row may have been edited since it was loaded, by the very person who now decides on it."""
    if actor.id in _authors(locked):
        raise EditedMeanwhile


def _authorize(actor: Principal, note: Note) -> None:
    authorize(
        actor,
        Permission.NOTE_DECIDE,
        note.team,
        organization=note.organization_id,
        object_id=note.pk,
        context=Context(authors=_authors(note), submitters=frozenset(UUID(person) for person in note.submitters)),
    )


def _check_open(note: Note, shown_digest: str, step: NoteStep) -> ReviewItem:
    item = current_item(note)
    if next_status(NoteStatus(note.status), step) is None or item is None:
        last = note.decisions.order_by("-at").select_related("reviewer").first()
        who = f" by {last.reviewer} at {last.at:%Y-%m-%d %H:%M:%S} UTC ({last.verdict})" if last else ""
        raise AlreadyDecided(f"the note is {note.status}{who}", status=note.status, version=note.version)
    if shown_digest != note.content_digest or note_digest(note) != note.content_digest:
        raise ContentChanged(version=note.version)
    return item


def _check_team(note: Note, wanted: Iterable[UUID], *, excluded: Collection[UUID] = ()) -> None:
    verdict = check_recipients(list(wanted), team_agents=team_agents(note.team_id), excluded=excluded)
    if isinstance(verdict, RecipientsRefused):
        raise RecipientsNotAllowed(verdict.reason.value)


def _check_places(assessed: Assessed, wanted: Collection[UUID]) -> None:
    """Nobody is chosen in whose workspace the note has no place."""
    for row in assessed.recipients:
        if row.agent in wanted and row.placement in ("", "collision"):
            reason = WithholdReason.SKILL_KEY_COLLISION.value if row.placement else "workspace_unreadable"
            raise RecipientsNotAllowed(reason)


def _step(note: Note, step: NoteStep, actor: Principal) -> None:
    status = next_status(NoteStatus(note.status), step)
    assert status is not None, "a decision is checked before it is made"
    execute("UPDATE memory_note SET status = %s, decided_by_id = %s WHERE id = %s", [status.value, actor.id, note.pk])


def _granted(note: Note) -> frozenset[UUID]:
    rows = fetch("SELECT agent_id FROM memory_recipient WHERE note_id = %s AND verdict = 'granted'", [note.pk])
    return frozenset(as_uuid(agent) for (agent,) in rows)


def _candidates(note: Note) -> list[UUID]:
    rows = Recipient.objects.filter(note=note).exclude(reason=WithholdReason.NOT_PARTICIPANT)
    return list(rows.values_list("agent_id", flat=True))


def _withhold(note: Note, agents: Collection[UUID], reason: WithholdReason, ledger: Recorder) -> None:
    Recipient.objects.filter(note=note, agent_id__in=agents).update(verdict="withheld", reason=reason.value)
    record_withheld(note, [row for row in assessed_rows(note) if row.agent in agents], ledger)


def _decide(
    actor: Principal,
    note: Note,
    item: ReviewItem | None,
    verdict: str,
    shown_digest: str,
    words: str,
    before: frozenset[UUID],
    after: frozenset[UUID],
    ledger: Recorder,
) -> None:
    words = require("words", words, limit=_WORDS, blank=True)
    if actor.id is None:
        raise Invalid(actor="a decision is a person's")
    if verdict != "edited":
        close_items(note)
    insert(
        Decision(
            id=new_id(),
            organization_id=note.organization_id,
            note=note,
            item=item,
            verdict=verdict,
            reviewer_id=actor.id,
            authentication=dict(actor.auth),
            content_digest=shown_digest,
            words=words,
            before=sorted(str(agent) for agent in before),
            after=sorted(str(agent) for agent in after),
            at=clock.now(),
        )
    )
    ledger.record(
        DecisionRecorded(
            note=note.pk,
            team=note.team_id,
            review_item=item.pk if item else None,
            verdict=verdict,
            reasons=tuple(note.review_reasons),
            content_digest=shown_digest,
            recipients_before=tuple(sorted(before)),
            recipients_after=tuple(sorted(after)),
            words=words,
            reviewer_name=actor.name,
        )
    )


def _save_edit(
    note: Note, assessed: Assessed, rows: Collection[Any], actor: Principal, new_text: bool, policy: Policy
) -> None:
    close_items(note)
    if new_text:
        put_assessment(note, assessed)
    save_recipients(note, list(rows))
    note.edited_by_id = actor.id
    note.version += 1
    note.policy_digest = policy.digest
    note.review_reasons = [reason.value for reason in review_reasons(facts_of(note, list(rows)), policy=policy)]
    note.status = (NoteStatus.QUARANTINED if note.quarantined else NoteStatus.PENDING).value
    note.save()
    seal_digest(note)


def proposed_text(text: NoteText, policy: Policy) -> ProposedText:
    """A statement by a person or an agent, checked; the key is folded, or made of the content where there is none."""
    content = require("content", text.content.strip(), limit=policy.note_content_chars)
    description = require("description", text.description.strip(), limit=policy.note_description_chars, multiline=False)
    key = fold_skill_key(text.skill_key, content=content)
    if key is None:
        raise Invalid(skill_key="must not hold path characters")
    return ProposedText(
        content=content,
        description=description,
        rationale=require("rationale", text.rationale, limit=policy.note_rationale_chars, blank=True),
        skill_key=key,
        severity=text.severity,
    )


def _as_proposed(note: Note) -> ProposedText:
    return ProposedText(
        content=note.content,
        description=note.description,
        rationale=note.rationale,
        skill_key=note.skill_key,
        severity=Severity(note.severity),
    )
