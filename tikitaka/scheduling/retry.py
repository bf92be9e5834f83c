"""What is tried again and what is not: the default is not."""

from __future__ import annotations

from tikitaka.policy import Policy
from tikitaka.ports import ErrorKind

RETRIED: frozenset[ErrorKind] = frozenset(
    {"timed_out", "connection_reset", "exit_nonzero", "agent_busy", "interrupted"}
)


def retry(error: ErrorKind, *, attempts: int, policy: Policy) -> bool:
    """True when a node whose attempt number `attempts` ended with `error` is queued again.

    Retried are timeouts, connection resets, non-zero exits, a busy agent and an attempt that died with its worker;
    never a bad or missing answer, an output overflow, a missing program or a cancellation.
    """
    return error in RETRIED and attempts < policy.node_attempts_max
