"""Workspaces on other machines: what such a machine is to hold, and what it says that it holds.

Only the agent itself asks and answers: placement is the permission, and the manifest is the placement.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from apps.accounts.services.authorize import deny_at_home
from apps.conductor.incidents import close_cured, open_incident
from apps.conductor.models import Incident, IncidentKind
from apps.memory.services.landing.confirm import Confirmation, Said, confirm
from apps.memory.services.landing.manifest import Manifest, manifest_of, publication
from apps.teams.models import Agent
from tikitaka.authz import Principal
from tikitaka.errors import NotFound

ON_ITS_MACHINE = " on its machine"
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A manifest, and within how many seconds the machine should say again what it holds."""

    manifest: Manifest
    report_s: int


def own_manifest(*, actor: Principal, agent: UUID, known: str = "", wait_s: float = 0) -> Delivery | None:
    """The manifest of the agent that asks; None when it is still the `known` one after `wait_s` seconds."""
    _own(actor, agent)
    policy = settings.TIKITAKA_POLICY
    until = time.monotonic() + wait_s
    while True:
        seen = publication(agent)
        manifest = manifest_of(agent=agent, policy=policy)
        if manifest.version != known:
            return Delivery(manifest=manifest, report_s=policy.confirm_age_s // 3)
        while publication(agent) == seen:
            left = until - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(_LOOK_S, left))


def report_holding(*, actor: Principal, agent: UUID, version: str, said: Mapping[str, Said]) -> Confirmation:
    """Keeps what the agent's machine holds; a file that is another one there is an incident until it is cured."""
    row = _own(actor, agent)
    manifest = manifest_of(agent=agent, policy=settings.TIKITAKA_POLICY)
    found = confirm(actor=actor, agent=row, version=version, said=said, manifest=manifest)
    for path, fault in found.wrong.items():
        open_incident(
            organization=row.organization_id,
            team=row.team_id,
            kind=IncidentKind.DRIFT,
            subject=_subject(agent, path),
            detail=fault,
        )
    _close_cured(row, manifest, found)
    return found


def _own(actor: Principal, agent: UUID) -> Agent:
    """The agent that a token speaks for; for everybody else it is as if it did not exist."""
    grant = actor.grant
    if grant is None or grant.agent is None or grant.agent != agent:
        owner = Agent.objects.filter(pk=agent).values_list("organization_id", flat=True).first()
        deny_at_home(actor, "hold_workspace", organization=owner, object_id=agent)
        raise NotFound("no such agent")
    return Agent.objects.get(pk=agent)


def _close_cured(agent: Agent, manifest: Manifest, found: Confirmation) -> None:
    """Cured is what the machine holds as wanted, and what it is not to hold any more."""
    there = {file.path for file in manifest.files} | {file.path for file in manifest.refused}
    still = {_subject(agent.pk, path) for path in there if path not in found.confirmed}
    mine = Incident.objects.filter(
        organization_id=agent.organization_id,
        kind=IncidentKind.DRIFT,
        closed_at=None,
        subject__startswith=f"agent {agent.pk} ",
        subject__endswith=ON_ITS_MACHINE,
    )
    for subject in mine.exclude(subject__in=still).values_list("subject", flat=True):
        close_cured(organization=agent.organization_id, kind=IncidentKind.DRIFT, subject=subject)


def _subject(agent: UUID, path: str) -> str:
    return f"agent {agent} {path}{ON_ITS_MACHINE}"
