"""Incidents: opened once per subject, counted while they last, closed by a person or by the cure."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from apps.accounts.services.authorize import authorize
from apps.conductor.models import Incident, IncidentKind
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.services import recording
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import WrongState
from tikitaka.ledger.events import IncidentClosed, IncidentOpened
from tikitaka.text import cut


def open_incident(*, organization: UUID, team: UUID | None, kind: IncidentKind, subject: str, detail: str = "") -> None:
    """Opens an incident, or counts another sighting of the open one."""
    now = clock.now()
    with recording(organization) as ledger:
        seen = Incident.objects.filter(organization_id=organization, kind=kind, subject=subject, closed_at=None)
        if seen.update(count=F("count") + 1, last_seen_at=now, detail=cut(detail, 2_000)):
            return
        incident = Incident.objects.create(
            id=new_id(),
            organization_id=organization,
            team_id=team,
            kind=kind,
            subject=subject,
            detail=cut(detail, 2_000),
            opened_at=now,
            last_seen_at=now,
        )
        ledger.record(IncidentOpened(incident=incident.pk, team=team, kind=kind.value))


def close_cured(*, organization: UUID, kind: IncidentKind, subject: str) -> None:
    """Closes an open incident whose cause is gone."""
    for incident in Incident.objects.filter(organization_id=organization, kind=kind, subject=subject, closed_at=None):
        _close(incident, None)


def close_incident(*, actor: Principal, incident: Incident) -> None:
    """A person has dealt with it."""
    team: Team | None = incident.team
    authorize(
        actor,
        Permission.INCIDENT_CLOSE,
        team or incident.organization,
        organization=incident.organization_id,
        object_id=incident.pk,
    )
    if not _close(incident, actor):
        raise WrongState("the incident is closed already")


def _close(incident: Incident, actor: Principal | None) -> bool:
    with recording(incident.organization_id) as ledger:
        changed = Incident.objects.filter(pk=incident.pk, closed_at=None).update(
            closed_at=clock.now(), closed_by_id=actor.id if actor else None
        )
        if changed:
            closed = IncidentClosed(incident=incident.pk, team=incident.team_id, kind=incident.kind)
            ledger.record(closed, actor=actor.actor if actor else None)
    return bool(changed)
