"""What all tests share: the append-only ledger survives the flush between transactional tests, and the cast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management.commands import flush
from django.db import connection, connections

from apps.conductor import wake
from apps.ledger import triggers
from tests.support import lock_order
from tests.support.cast import Cast, assemble


@pytest.fixture(autouse=True, scope="session")
def ledger_can_be_emptied_between_tests() -> Iterator[None]:
    """A transactional test ends with a flush, which the ledger's triggers refuse; they step aside for that moment."""
    original = flush.Command.handle

    def handle(command: Any, *args: Any, **options: Any) -> Any:
        connection = connections[options["database"]]
        triggers.uninstall(connection)
        try:
            return original(command, *args, **options)
        finally:
            triggers.install(connection)

    flush.Command.handle = handle
    yield
    flush.Command.handle = original


@pytest.fixture(autouse=True)
def nobody_is_woken() -> Iterator[None]:
    """No test inherits another one's workers."""
    wake.bind(None)
    yield
    wake.bind(None)


@pytest.fixture(autouse=True)
def own_folders(settings: Any, tmp_path: Any) -> None:
    """Workspaces and recorded answers of one test."""
    settings.TIKITAKA_WORKSPACES = tmp_path / "workspaces"
    settings.TIKITAKA_REPLAY = tmp_path / "replay"
    settings.TIKITAKA_REPLAY.mkdir()


@pytest.fixture(autouse=True)
def rows_are_locked_in_one_order() -> Iterator[lock_order.Watch | None]:
    """No two transactions may ever wait for each other; SQLite has one writer and nothing to wait for."""
    if connection.vendor != "postgresql":
        yield None
        return
    with lock_order.watched() as watch:
        yield watch
    assert not watch.wrong, "\n".join(watch.wrong)


@pytest.fixture
def cast(db: None) -> Cast:
    """An organization with a person in each role, a team of three agents, and a stranger in another organization."""
    return assemble()


@pytest.fixture
def committed_cast(transactional_db: None) -> Cast:
    """The same where threads and other processes must see it."""
    return assemble()
