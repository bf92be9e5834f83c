"""How a team stands: everything that writing ends and beginning attempts must know, asked at once behind its lock."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from apps.ledger.queries import Query, Rows
from apps.ledger.sql import as_uuid, marks, together
from apps.tasks.graphs import RunningTask, running_tasks
from apps.tasks.services.attempts import held_attempts
from apps.tasks.services.budgets import any_budget
from apps.tasks.services.log import Scheduler, locked_scheduler, make_scheduler
from apps.teams.selectors import Gate, external_agents, gate
from tikitaka.scheduling.graph import NodeStatus
from tikitaka.scheduling.ready import Busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Leased:
    """A lease of the team with one of the prefixes that its attempt holds, if it holds any."""

    attempt: UUID
    agent: UUID
    prefix: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A team's locked row, its switches, its running tasks by id in order of submission, and what runs in it.

    `held` and `digests` are about the attempts that the look was for: which still run, each with its holder's fencing
    number, and the count and digest of each one's spans. `limited`: anything in the organization has a budget.
    """

    team: UUID
    scheduler: Scheduler
    gate: Gate
    tasks: Mapping[UUID, RunningTask]
    leases: Sequence[Leased]
    external: frozenset[UUID]
    limited: bool
    held: Collection[tuple[UUID, int]]
    digests: Mapping[UUID, tuple[int, str]]

    def busy(self) -> Busy:
        """What runs, as the rules for the next attempts see it."""
        agents = frozenset(lease.agent for lease in self.leases)
        prefixes = tuple(lease.prefix for lease in self.leases if lease.prefix is not None)
        return Busy(running=len(agents), agents=agents, prefixes=prefixes)

    def after(self, ended: Collection[UUID], outcome: Mapping[UUID, NodeStatus]) -> Standing:
        """The same once these attempts have ended and their nodes stand as `outcome` says."""
        return replace(
            self,
            tasks={key: task.after(outcome) for key, task in self.tasks.items()},
            leases=[lease for lease in self.leases if lease.attempt not in ended],
        )


def look(team: UUID, *, organization: UUID, attempts: Sequence[UUID] = ()) -> Standing:
    """Locks the team's row until the transaction ends, and reads behind the lock."""
    with together():
        scheduler = locked_scheduler(team).send()
        switches = gate(team).send()
        tasks = running_tasks(team).send()
        leases = _leases(team).send()
        external = external_agents(team).send()
        limited = any_budget(organization).send()
        held = held_attempts(attempts).send() if attempts else None
        digests = _span_digests(attempts).send() if attempts else None
    row = scheduler.answer()
    if row is None:
        make_scheduler(team)
        return look(team, organization=organization, attempts=attempts)
    return Standing(
        team=team,
        scheduler=row,
        gate=switches.answer(),
        tasks=tasks.answer(),
        leases=leases.answer(),
        external=external.answer(),
        limited=limited.answer(),
        held=held.answer() if held else (),
        digests=digests.answer() if digests else {},
    )


def _leases(team: UUID) -> Query[list[Leased]]:
    """Each lease with each lock of its attempt."""
    return Query(
        "SELECT lease.attempt_id, lease.agent_id, held.prefix FROM tasks_agentlease lease"
        " LEFT JOIN tasks_treelock held ON held.attempt_id = lease.attempt_id WHERE lease.team_id = %s",
        [team],
        lambda rows: [Leased(attempt=as_uuid(a), agent=as_uuid(b), prefix=prefix) for a, b, prefix in rows],
    )


def _span_digests(attempts: Sequence[UUID]) -> Query[dict[UUID, tuple[int, str]]]:
    """Count and digest of each attempt's spans: what the log says about the trace, which is not an entry itself."""
    return Query(
        f"SELECT attempt_id, seq, kind, text FROM tasks_span WHERE attempt_id IN ({marks(attempts)})"
        " ORDER BY attempt_id, seq",
        attempts,
        _digests,
    )


def _digests(rows: Rows) -> dict[UUID, tuple[int, str]]:
    hashes: dict[UUID, tuple[int, hashlib._Hash]] = {}
    for key, seq, kind, text in rows:
        attempt = as_uuid(key)
        count, running = hashes.get(attempt) or (0, hashlib.sha256())
        running.update(f"{seq}\x00{kind}\x00{text}\x00".encode())
        hashes[attempt] = (count + 1, running)
    return {attempt: (count, running.hexdigest()) for attempt, (count, running) in hashes.items()}
