"""The backend that Django loads by the name of this package."""

from __future__ import annotations

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Error


class DatabaseWrapper(base.DatabaseWrapper):
    """A kept connection is looked at before every request and job; asking the server each time is a way there and back.

    Nothing is on its way to a connection that waits: if there is something to read, it is the end of it, or the server
    saying why. Only then is it asked, as Django would.
    """

    def is_usable(self) -> bool:
        return (self.connection is not None and _is_silent(self.connection)) or super().is_usable()


def _is_silent(connection: Any) -> bool:
    try:
        descriptor = connection.fileno()
    except Error:
        return False
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return not waiting.poll(0)
