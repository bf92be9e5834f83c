"""Bringing in real work: a session recorded elsewhere becomes tasks, attempts, spans and messages of a team.

Nothing here calls a model. The pipeline that makes notes of our own work finds the tasks by query and does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings

from apps.accounts.services.authorize import authorize
from apps.conductor.import_rows import prepare
from apps.conductor.import_writer import Imported, ImportWriter, stored_turns
from apps.conductor.models import ImportSource
from apps.conductor.wake import wake
from apps.ledger import clock
from apps.ledger.services import recording
from apps.tasks.services.stop import TeamArchived
from apps.teams.models import Agent, Team
from tikitaka.authz import Permission, Principal, PrincipalKind
from tikitaka.capture.matching import align
from tikitaka.capture.sessions import ImportedSession
from tikitaka.errors import NotFound
from tikitaka.policy import Policy


def import_sessions(
    *, actor: Principal, team: Team, agent: Agent, sessions: Iterable[ImportedSession]
) -> list[Imported]:
    """Brings in sessions of one agent, each in a transaction of its own, and says what each added.

    Bringing in the same session again changes nothing; another recording of it only fills gaps.
    """
    authorize(actor, Permission.WORK_IMPORT, team, organization=team.organization_id, object_id=team.pk)
    if agent.team_id != team.pk:
        raise NotFound("no such agent")
    if team.archived_at is not None:
        raise TeamArchived
    imported = [_import(actor, agent, session, settings.TIKITAKA_POLICY) for session in sessions]
    if any(one.changed for one in imported):
        wake("assign", team.pk)
    return imported


def _import(actor: Principal, agent: Agent, session: ImportedSession, policy: Policy) -> Imported:
    """Redacts outside the transaction; inside it the source's row lets one import of the thread in at a time."""
    now = clock.now()
    turns = [prepare(turn, now=now, policy=policy) for turn in session.turns]
    submitter = actor.id if actor.kind is PrincipalKind.USER else None
    with recording(agent.organization_id, actor=actor.actor) as ledger:
        source = _source(agent, session.thread_id, now)
        writer = ImportWriter(source=source, agent=agent, submitter=submitter, now=now, policy=policy, ledger=ledger)
        stored = stored_turns(source)
        places = align(
            [turn.outline for turn in turns],
            [known.outline for known in stored],
            same_form=session.form in source.forms,
        )
        for turn, place in zip(turns, places, strict=True):
            if place is None:
                writer.add(turn)
            else:
                writer.fill(stored[place], turn)
        return writer.save(session)


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
