"""One wake-up with two bindings: the embedded pool of this process, and a broker where one is configured.

A wake-up only hurries. The database is the queue: losing or doubling one changes nothing, a sweep finds the work.
"""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from django.conf import settings


class Binding(Protocol):
    """Sends a job by name with the id of the row that it is about."""

    def wake(self, job: str, subject: UUID) -> None: ...


class _Nobody:
    """No worker in this process and no broker: whoever serves or sweeps will find the row."""

    def wake(self, job: str, subject: UUID) -> None:  # noqa: ARG002 the protocol's parameters
        return


_binding: Binding | None = None


def bind(binding: Binding | None) -> None:
    """Chooses who gets the wake-ups of this process; None for the broker that is configured, or else nobody."""
    global _binding
    _binding = binding


def wake(job: str, subject: UUID) -> None:
    """Asks for a job soon."""
    (_binding or _configured()).wake(job, subject)


def _configured() -> Binding:
    if not settings.TIKITAKA_BROKER_URL:
        return _Nobody()
    from apps.conductor.broker import BROKER  # Celery takes a tenth of a second to import

    return BROKER
