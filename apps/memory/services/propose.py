"""A statement that an agent hands in while it works. It goes the whole way: safety, recognition, a person."""

from __future__ import annotations

from uuid import UUID

from apps.ledger.services import recording
from apps.memory.models import Note
from apps.memory.services.assess import Assessed, assess
from apps.memory.services.notes import PROPOSED, NoteDraft, save_notes
from apps.memory.services.review import NoteText, proposed_text
from apps.tasks.models import Attempt, AttemptStatus
from apps.tasks.services.attempts import AttemptOver
from apps.teams.selectors import active_agents
from tikitaka.errors import WrongState
from tikitaka.ledger.entries import Actor
from tikitaka.ledger.events import ProposalRepeated
from tikitaka.policy import Policy
from tikitaka.text import digest


class TooManyProposals(WrongState):
    """An attempt may hand in so many statements and no more."""

    code = "too_many_proposals"


def propose_note(*, actor: Actor, attempt: Attempt, text: NoteText, policy: Policy) -> Note | None:
    """A candidate with the attempt as its provenance, for all active agents of the team.

    None when a note says the same already: that is recorded, and not for the agent to know.
    """
    proposed = proposed_text(text, policy)
    _require_room(attempt, policy)
    team = attempt.task.team
    everybody = list(active_agents(team.pk).values_list("pk", flat=True))
    assessed = assess(proposed, team=team, candidates=everybody, policy=policy)
    with recording(attempt.organization_id, actor=actor) as ledger:
        locked = Attempt.objects.select_for_update(of=("self",)).get(pk=attempt.pk)
        if locked.status != AttemptStatus.RUNNING:
            raise AttemptOver
        _require_room(attempt, policy)
        if assessed.duplicate_of is not None:
            ledger.record(_repeated(attempt, assessed, assessed.duplicate_of))
            return None
        submitter = attempt.task.submitted_by_id
        (note,) = save_notes(
            [NoteDraft(assessed=assessed, attempts=(attempt.pk,))],
            team=team,
            source=PROPOSED,
            ledger=ledger,
            policy=policy,
            submitters=[submitter] if submitter else [],
        )
    return note


def _require_room(attempt: Attempt, policy: Policy) -> None:
    if Note.objects.filter(source=PROPOSED, cited_attempts=attempt.pk).count() >= policy.proposals_max:
        raise TooManyProposals


def _repeated(attempt: Attempt, assessed: Assessed, of: UUID) -> ProposalRepeated:
    return ProposalRepeated(
        attempt=attempt.pk,
        team=attempt.task.team_id,
        agent=attempt.agent_id,
        of=of,
        content_digest=digest(assessed.content),
    )
