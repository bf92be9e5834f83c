"""Which hosts were heard from lately: whoever works for a host's teams says so now and then.

Nothing goes by it but words to people: claims and leases know no hosts that are alive or dead.
"""

from __future__ import annotations

import threading
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import close_old_connections, connections

from apps.conductor.models import HostSeen
from apps.ledger import clock
from apps.teams.hosts import hosts_with_teams

log = structlog.get_logger(__name__)
SILENT = timedelta(minutes=2)
_EVERY_S = 30.0


def say_here() -> None:
    """Work for the teams of this host is done here. Without a name there is nobody to be told apart."""
    if settings.TIKITAKA_HOST:
        HostSeen.objects.update_or_create(name=settings.TIKITAKA_HOST, defaults={"seen_at": clock.now()})


def silent_hosts() -> list[str]:
    """Hosts with teams on which nobody has worked for a while, or ever."""
    named = {host for host in hosts_with_teams() if host}
    heard = HostSeen.objects.filter(name__in=named, seen_at__gte=clock.now() - SILENT) if named else ()
    return sorted(named - {row.name for row in heard})


def keep_saying(stop: threading.Event) -> threading.Thread:
    """A thread that says it until `stop` is set."""
    thread = threading.Thread(target=_say_until, args=(stop,), name="hearing", daemon=True)
    thread.start()
    return thread


def _say_until(stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            say_here()
        except Exception:
            log.exception("it could not be said that somebody works here")
        close_old_connections()
        stop.wait(_EVERY_S)
    connections.close_all()
