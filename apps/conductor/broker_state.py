"""Whether the broker answers, for whoever reports readiness. Without one there is nothing that could be away."""

from __future__ import annotations

from django.conf import settings


def broker_answers() -> bool:
    """Asks the broker for a connection, for two seconds at most."""
    if not settings.TIKITAKA_BROKER_URL:
        return True
    from celery import Celery  # takes a tenth of a second to import

    connection = Celery(broker=settings.TIKITAKA_BROKER_URL, set_as_current=False).connection_for_write()
    try:
        connection.ensure_connection(max_retries=0, timeout=2)
    except Exception:  # noqa: BLE001 each transport has its own errors, and all of them mean the same
        return False
    finally:
        connection.release()
    return True
