"""One wake-up with two bindings: the embedded pool of this process, and (in production) a broker.

A wake-up only hurries. The database is the queue: losing or doubling one changes nothing, a sweep finds the work.
"""

from __future__ import annotations

from typing import Protocol
from uuid import UUID


class Binding(Protocol):
    """Sends a job by name with the id of the row that it is about."""

    def wake(self, job: str, subject: UUID) -> None: ...


class _Nobody:
    """No worker in this process: whoever serves or sweeps will find the row."""

    def wake(self, job: str, subject: UUID) -> None:  # noqa: ARG002 the protocol's parameters
        return


_binding: Binding = _Nobody()


def bind(binding: Binding | None) -> None:
    """Chooses who gets the wake-ups of this process; None for nobody."""
    global _binding
    _binding = binding or _Nobody()


def wake(job: str, subject: UUID) -> None:
    """Asks for a job soon."""
    _binding.wake(job, subject)
