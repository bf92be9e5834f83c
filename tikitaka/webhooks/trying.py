"""How often and when a delivery is tried, what an answer means, and for how long a failing endpoint is left alone."""

from __future__ import annotations

from enum import StrEnum

from tikitaka.policy import Policy
from tikitaka.webhooks.events import TEST

# Seconds to wait after the first, second ... attempt that failed; after the last of them it is given up.
WAITS_S = (5, 30, 120, 600, 3_600, 21_600, 43_200)
ATTEMPTS_MAX = len(WAITS_S) + 1
REST_MAX_S = 600
GONE = 410


class SendFault(StrEnum):
    """Why an attempt did not deliver; in the log of deliveries under this name."""

    REFUSED_STATUS = "refused_status"
    REDIRECT = "redirect"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    TLS = "tls"
    PROTOCOL = "protocol"
    UNRESOLVED = "unresolved"
    PRIVATE_ADDRESS = "private_address"
    BAD_URL = "bad_url"
    NO_SECRET = "no_secret"  # noqa: S105 the name of a fault
    INTERRUPTED = "interrupted"
    EXPIRED = "expired"
    REMOVED = "removed"


def fault_of(status: int) -> SendFault | None:
    """What a status says: any 2xx is a receipt, nothing else is. Redirects are not followed."""
    if 200 <= status < 300:
        return None
    return SendFault.REDIRECT if 300 <= status < 400 else SendFault.REFUSED_STATUS


def wait_after(*, event: str, attempts: int, age_s: float, policy: Policy) -> int | None:
    """Seconds until the next attempt, after `attempts` of them have failed; None when it is given up.

    A test is tried once: whoever asked for it is waiting.
    """
    if event == TEST or attempts >= ATTEMPTS_MAX or age_s >= policy.webhook_life_s:
        return None
    return WAITS_S[attempts - 1]


def rest_after(failures: int) -> int:
    """Seconds for which an endpoint is left alone after that many failures in a row, whatever is waiting for it.

    Otherwise a receiver that is away would hold a worker for a whole timeout again and again.
    """
    return min(WAITS_S[min(failures, len(WAITS_S)) - 1], REST_MAX_S)
