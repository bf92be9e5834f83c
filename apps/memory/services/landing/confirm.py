"""What the agent's own machine says that it holds: the only ground on which a note there counts as available."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from apps.ledger import clock
from apps.ledger.services import Recorder, recording
from apps.memory.models import Landing, LandingStatus, RemoteFile
from apps.memory.services.landing.manifest import Manifest
from apps.teams.models import Agent
from tikitaka.authz import Principal
from tikitaka.ledger.events import LandingConfirmed

ABSENT = "file_absent_there"
CHANGED = "file_changed_there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One file as the machine sees it; an empty digest with the fault where it cannot be read."""

    digest: str
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What came of a report. `wrong` are files that the machine should have by now and has not, each with the fault."""

    version: str
    confirmed: tuple[str, ...]
    wrong: Mapping[str, str]
    unknown: tuple[str, ...]


def confirm(
    *, actor: Principal, agent: Agent, version: str, said: Mapping[str, Said], manifest: Manifest
) -> Confirmation:
    """Keeps what the machine holds of the manifest's files, and when it said so.

    Of each landing the first time is an entry, and the first after a fault.
    A machine that answers for an earlier version is behind, not wrong: the next report will be about this one.
    """
    wanted = {file.path: file.digest for file in manifest.files}
    known = {path: what for path, what in said.items() if path in wanted}
    confirmed = tuple(path for path, what in known.items() if what.digest == wanted[path])
    with recording(agent.organization_id, actor=actor.actor) as ledger:
        Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)  # one report after the other
        _keep(agent, known)
        landed = Landing.objects.filter(agent=agent, status=LandingStatus.LANDED, file__in=confirmed)
        shown = landed.filter(landed_at__lte=manifest.read_at, note__activated_at__lte=manifest.read_at)
        _record_first(agent, shown.filter(confirmed_at=None), wanted, ledger)
        shown.update(confirmed_at=clock.now())
    current = version == manifest.version
    return Confirmation(
        version=manifest.version,
        confirmed=confirmed,
        wrong={path: _fault(known.get(path)) for path in wanted if path not in confirmed} if current else {},
        unknown=tuple(path for path in said if path not in wanted),
    )


def _record_first(agent: Agent, landings: QuerySet[Landing], digests: Mapping[str, str], ledger: Recorder) -> None:
    for landing, note, file in landings.order_by("pk").values_list("pk", "note", "file"):
        ledger.record(
            LandingConfirmed(
                landing=landing,
                team=agent.team_id,
                note=note,
                agent=agent.pk,
                file=file,
                file_digest=digests[file],
            )
        )


def confirmed_digests(agent: UUID) -> dict[str, str]:
    """The digest of every file that the agent's machine vouched for lately enough."""
    oldest = clock.now() - timedelta(seconds=settings.TIKITAKA_POLICY.confirm_age_s)
    rows = RemoteFile.objects.filter(agent_id=agent, confirmed_at__gte=oldest).exclude(digest="")
    return dict(rows.values_list("file", "digest"))


def _keep(agent: Agent, known: Mapping[str, Said]) -> None:
    now = clock.now()
    RemoteFile.objects.filter(agent=agent).exclude(file__in=list(known)).delete()
    for path, what in known.items():
        RemoteFile.objects.update_or_create(
            agent=agent,
            file=path,
            defaults={"organization_id": agent.organization_id, "digest": what.digest, "confirmed_at": now},
        )


def _fault(what: Said | None) -> str:
    if what is None:
        return ABSENT
    return what.fault or CHANGED
