"""A team's turn: the ends that have come in are written, and what they made ready begins, having looked once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from apps.ledger.services import recording
from apps.tasks.services.claim import Claimed, claim
from apps.tasks.services.finish import Ended, Finished, finish
from apps.tasks.services.standing import look
from tikitaka.hosts import WorkspaceElsewhere
from tikitaka.policy import Policy


def take_turn(
    *, organization: UUID, team: UUID, ends: Sequence[Ended], room: int, policy: Policy
) -> tuple[Finished | None, list[Claimed]]:
    """What the ends led to, None without any, and at most `room` attempts that the caller now holds.

    One transaction: one look behind the team's lock, one decision about both, one message to write it.
    """
    finished: Finished | None = None
    claimed: list[Claimed] = []
    if not ends and room <= 0:
        return finished, claimed
    with recording(organization) as ledger:
        standing = look(team, organization=organization, attempts=[e.claimed.attempt for e in ends])
        if ends:
            finished, standing = finish(standing, ends, ledger=ledger, policy=policy)
        if room > 0:
            with suppress(WorkspaceElsewhere):  # ends are written wherever the team lies by now
                claimed = claim(standing, ledger=ledger, policy=policy, limit=room)
    return finished, claimed
