"""Bringing in real work: a session recorded elsewhere becomes tasks, attempts, spans and messages of a team.

Nothing here calls a model. The pipeline that makes notes of our own work finds the tasks by query and does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from apps.accounts.services.authorize import authorize
from apps.conductor.import_rows import PreparedTurn, prepare
from apps.conductor.import_writer import Imported, ImportWriter, StoredTurn, known_turns, stored_turns
from apps.conductor.models import ImportSource
from apps.conductor.wake import wake
from apps.ledger import clock
from apps.ledger.services import recording
from apps.tasks.services.log import lock_scheduler
from apps.tasks.services.stop import TeamArchived
from apps.teams.models import Agent, Team
from apps.teams.selectors import active_agents
from tikitaka.authz import Permission, Principal, PrincipalKind
from tikitaka.capture.documents import read_document, read_trace_document
from tikitaka.capture.matching import align
from tikitaka.capture.otlp import Traces, by_agent
from tikitaka.capture.sessions import ImportedSession
from tikitaka.capture.turns import DamagedLine
from tikitaka.errors import Invalid, NotFound, TikiTakaError
from tikitaka.policy import Policy
from tikitaka.text import cut, name_key

_NAMES_SHOWN = 20
_NAME_CHARS = 80


class UnknownAgents(TikiTakaError):
    """The traces name agents that this team does not have. `names` are theirs."""

    code = "unknown_agents"

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(names))
        shown = [f"'{cut(name, _NAME_CHARS)}'" if name else "one without a name" for name in self.names]
        more = len(shown) - _NAMES_SHOWN
        listed = ", ".join(shown[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        super().__init__(f"no active agent of this team has the name of these agents of the traces: {listed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedDocument:
    """What each session of a document added, and every line or span of it that could not be read whole."""

    imported: tuple[Imported, ...]
    damaged: tuple[DamagedLine, ...]

    @property
    def changed(self) -> bool:
        """False when everything had been brought in before."""
        return any(one.changed for one in self.imported)


def import_document(
    *, actor: Principal, team: Team, document: bytes | str, agent: Agent | None = None, prompt: str | None = None
) -> ImportedDocument:
    """Brings in a recording in any known form: a finished session, or traces of OpenTelemetry as JSON.

    Without `agent` each session belongs to the agent that it names. Raises UnreadableSession, and UnknownAgents
    before anything is written.
    """
    _may_import(actor, team, agent)
    return import_read(actor=actor, team=team, read=read_document(document, prompt=prompt), agent=agent)


def import_traces(
    *, actor: Principal, team: Team, document: bytes | str, agent: Agent | None = None
) -> ImportedDocument:
    """The same for a document that must hold traces: one export request as OTLP JSON, or one on each line."""
    _may_import(actor, team, agent)
    return import_read(actor=actor, team=team, read=read_trace_document(document), agent=agent)


def import_read(*, actor: Principal, team: Team, read: Traces, agent: Agent | None = None) -> ImportedDocument:
    """The same for what has been read already."""
    _may_import(actor, team, agent)
    if agent is None and any(session.form != "otlp" for session in read.sessions):
        raise Invalid(agent="must be given, for this recording does not say whose work it was")
    sessions = {agent: list(read.sessions)} if agent is not None else _of_agents(team, read.sessions)
    imported: list[Imported] = []
    for one, of_agent in sessions.items():
        imported += import_sessions(actor=actor, team=team, agent=one, sessions=of_agent)
    return ImportedDocument(imported=tuple(imported), damaged=read.damaged)


def import_sessions(
    *, actor: Principal, team: Team, agent: Agent, sessions: Iterable[ImportedSession]
) -> list[Imported]:
    """Brings in sessions of one agent, each in a transaction of its own, and says what each added.

    Bringing in the same session again changes nothing; another recording of it only fills gaps.
    """
    _may_import(actor, team, agent)
    imported = [_import(actor, agent, session, settings.TIKITAKA_POLICY) for session in sessions]
    if any(one.changed for one in imported):
        wake("assign", team.pk)
    return imported


def _may_import(actor: Principal, team: Team, agent: Agent | None) -> None:
    authorize(actor, Permission.WORK_IMPORT, team, organization=team.organization_id, object_id=team.pk)
    if agent is not None and agent.team_id != team.pk:
        raise NotFound("no such agent")
    if team.archived_at is not None:
        raise TeamArchived


def _of_agents(team: Team, sessions: Iterable[ImportedSession]) -> dict[Agent, list[ImportedSession]]:
    """The sessions of each agent of the team. A name is that of exactly one active agent, or it is refused."""
    active = {agent.name_key: agent for agent in active_agents(team.pk)}
    found: dict[Agent, list[ImportedSession]] = {}
    unknown: list[str] = []
    for name, of_name in by_agent(sessions).items():
        agent = active.get(name_key(name)) if name else None
        if agent is None:
            unknown.append(name)
        else:
            found.setdefault(agent, []).extend(of_name)
    if unknown:
        raise UnknownAgents(unknown)
    return found


def _import(actor: Principal, agent: Agent, session: ImportedSession, policy: Policy) -> Imported:
    """Redacts outside the transaction; inside it the source's row lets one import of the thread in at a time.

    The team's row comes before the tasks of the team, here as everywhere, or two would wait for each other.
    """
    now = clock.now()
    turns = prepare(session.turns, now=now, policy=policy)
    submitter = actor.id if actor.kind is PrincipalKind.USER else None
    with recording(agent.organization_id, actor=actor.actor) as ledger:
        source = _source(agent, session.thread_id, now)
        writer = ImportWriter(
            source=source,
            agent=agent,
            submitter=submitter,
            now=now,
            policy=policy,
            ledger=ledger,
            parts=session.form == "otlp",
        )
        recognized = _recognized(turns, source, same_form=session.form in source.forms)
        if recognized:
            lock_scheduler(agent.team_id)
        for turn, known in recognized:
            if known is None:
                writer.add(turn)
            else:
                writer.fill(known, turn)
        return writer.save(session)


def _recognized(
    turns: Sequence[PreparedTurn], source: ImportSource, *, same_form: bool
) -> list[tuple[PreparedTurn, StoredTurn | None]]:
    """The turns that this recording tells in a new way, each with the stored one that it is.

    The others are not asked again which they are: what has been added since might make them look like another.
    """
    known = known_turns(source, [turn.key for turn in turns])
    fresh = [turn for turn in turns if turn.key not in known]
    if not fresh:
        return []
    taken = {known[turn.key] for turn in turns if turn.key in known}
    stored = [turn for turn in stored_turns(source) if turn.attempt.pk not in taken]
    places = align([turn.outline for turn in fresh], [turn.outline for turn in stored], same_form=same_form)
    return [(turn, None if place is None else stored[place]) for turn, place in zip(fresh, places, strict=True)]


def _source(agent: Agent, thread_id: str, now: datetime) -> ImportSource:
    source, _ = ImportSource.objects.get_or_create(
        agent=agent,
        thread_id=thread_id,
        defaults={
            "organization_id": agent.organization_id,
            "team_id": agent.team_id,
            "imported_at": now,
        },
    )
    return ImportSource.objects.select_for_update().get(pk=source.pk)
