"""The secrets of endpoints: encrypted at rest under a key of the organization, which a new sealing key wraps anew."""

from __future__ import annotations

import os
from datetime import datetime

from apps.conductor.models import WebhookEndpoint
from apps.ledger.sealing import open_text, seal_text
from tikitaka.webhooks.signing import SECRET_BYTES, secret_of

_SUBJECT = "webhooks"


def fresh_secret(endpoint: WebhookEndpoint) -> tuple[str, bytes]:
    """A new secret: as the receiver gets it, and as it is stored."""
    secret = secret_of(os.urandom(SECRET_BYTES))
    return secret, seal_text(endpoint.organization_id, _SUBJECT, secret, bound_to=endpoint.pk)


def secrets_of(endpoint: WebhookEndpoint, now: datetime) -> list[str]:
    """Those that a receiver may know now, the newest first. Raises InvalidTag when one cannot be opened."""
    sealed = [bytes(endpoint.secret)]
    if endpoint.old_secret and endpoint.old_secret_until is not None and now < endpoint.old_secret_until:
        sealed.append(bytes(endpoint.old_secret))
    return [open_text(endpoint.organization_id, _SUBJECT, item, bound_to=endpoint.pk) for item in sealed]
