"""Edits may narrow the recipients or move them inside the team; they never widen beyond it.

The same check runs when an edit is made and again at activation, which every landing crosses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class EditFault(StrEnum):
    """Why a set of recipients is refused."""

    OUTSIDE_GROUP = "outside_group"
    AGENT_RETIRED = "agent_retired"
    AUDIENCE_EXCLUDED = "audience_excluded"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientsRefused:
    """The first agent that may not receive the note, and why."""

    agent: UUID | None
    reason: EditFault


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientsAllowed:
    """The set as it may stand."""

    recipients: frozenset[UUID]


def check_recipients(
    wanted: Collection[UUID],
    *,
    team_agents: Mapping[UUID, bool],
    excluded: Collection[UUID] = (),
    allow_empty: bool = False,
) -> RecipientsAllowed | RecipientsRefused:
    """`team_agents` maps every agent of the note's own team to whether it is active; anybody else is outside."""
    for agent in sorted(wanted):
        if agent not in team_agents:
            return RecipientsRefused(agent=agent, reason=EditFault.OUTSIDE_GROUP)
        if not team_agents[agent]:
            return RecipientsRefused(agent=agent, reason=EditFault.AGENT_RETIRED)
        if agent in excluded:
            return RecipientsRefused(agent=agent, reason=EditFault.AUDIENCE_EXCLUDED)
    if not wanted and not allow_empty:
        return RecipientsRefused(agent=None, reason=EditFault.NOBODY)
    return RecipientsAllowed(recipients=frozenset(wanted))
