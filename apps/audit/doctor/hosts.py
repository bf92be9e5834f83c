"""Checks of an installation with several workspace roots: who sees which, and whether anybody works there."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from apps.audit.doctor.diagnosis import Diagnosis, lasting, some
from apps.conductor.hearing import SILENT, silent_hosts
from apps.teams.hosts import are_named, hosts_with_teams


def silent() -> Iterator[Diagnosis]:
    """Teams lie there, and nobody can run or land anything for them."""
    for host in silent_hosts():
        with_broker = f"workers with TIKITAKA_HOST={host} for the queues nodes.{host} and control.{host}"
        start = with_broker if settings.TIKITAKA_BROKER_URL else f"manage.py serve with TIKITAKA_HOST={host}"
        yield Diagnosis(
            what=f"Nobody works for the teams on host {host}.",
            why=f"No worker of it was heard from for {lasting(SILENT.total_seconds())}.",
            do=f"Start {start}. Nobody else runs or lands their work; a team can be moved (docs/operations.md).",
        )


def unknown() -> Iterator[Diagnosis]:
    """A name that is in no list is either of a host that is given up, or wrong."""
    host = settings.TIKITAKA_HOST
    if host and host not in settings.TIKITAKA_HOSTS:
        used = host in hosts_with_teams()
        yield Diagnosis(
            what=f"No new team is placed on this host, {host}.",
            why="Its TIKITAKA_HOST is not among TIKITAKA_HOSTS"
            + (", though teams lie on it." if used else ", and no team lies on it."),
            do="Add it to TIKITAKA_HOSTS everywhere, or mend TIKITAKA_HOST, unless that is meant.",
            needs_person=not used,
        )


def unnamed() -> Iterator[Diagnosis]:
    """Teams from before the roots had names; only processes without a TIKITAKA_HOST serve them."""
    teams = hosts_with_teams().get("", 0) if are_named() else 0
    if teams:
        yield Diagnosis(
            what=f"{some(teams, 'team')} in the root without a name.",
            why="Other roots have names, and only processes without TIKITAKA_HOST work for such a team.",
            do="Move each with manage.py move_team on the host that holds its folders (docs/operations.md).",
            needs_person=False,
        )
