"""What stands here needs the real services; without them it fails, it never passes by not running."""

from __future__ import annotations

import pytest
from django.db import connection


@pytest.fixture(autouse=True, scope="session")
def the_database_is_postgresql() -> None:
    """Before anything else is set up."""
    if connection.vendor != "postgresql":
        pytest.fail(
            "tests/services needs PostgreSQL: set DATABASE_URL=postgres://..., or run make test-services", pytrace=False
        )
