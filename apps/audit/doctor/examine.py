"""All checks in the order in which one mends things: what everything stands on first."""

from __future__ import annotations

from apps.audit.doctor import hosts, installation, work
from apps.audit.doctor.diagnosis import Diagnosis
from apps.audit.metrics.figures import figures


def examine() -> list[Diagnosis]:
    """What is stuck now. Without a usable database the rows are left alone."""
    unusable = list(installation.database())
    surroundings = [*installation.broker(), *installation.encoder(), *installation.disk()]
    if unusable:
        return unusable + surroundings
    found = figures()
    return [
        *installation.triggers(),
        *installation.database_clock(),
        *surroundings,
        *installation.workspaces(),
        *hosts.silent(),
        *hosts.unknown(),
        *hosts.unnamed(),
        *work.logs(found),
        *work.incidents(),
        *work.waiting(found),
        *work.flushes(),
        *work.faults(),
        *work.reviews(),
        *work.paused(),
        *work.budgets(),
        *work.held(found),
    ]
