"""New identifiers, UUID version 7: they sort by time, so that indexes grow at one end."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A fresh id."""
    return uuid7()
