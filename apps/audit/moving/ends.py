"""The two databases: the source, held still, and the target, which must be ours alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections, transaction
from django.db.migrations.executor import MigrationExecutor

from apps.audit.moving.tables import Table
from apps.ledger import triggers
from apps.tasks.models import AgentLease
from tikitaka.errors import TikiTakaError

SOURCE = DEFAULT_DB_ALIAS
TARGET = "move_target"
# The types and permissions that every migration makes by itself; apps.audit.moving.copying takes over the source's.
MADE_BY_MIGRATION = frozenset({"django_content_type", "auth_permission"})
_LOCK = 0x7469_6B69_7461_6B61
_NOT_MODELS = frozenset({"django_migrations", "django_session"})


class NoSource(TikiTakaError):
    """What is configured is no embedded installation that could be moved."""

    code = "move_no_source"


class StillWorking(TikiTakaError):
    """Work is going on in the installation."""

    code = "move_still_working"


class NoTarget(TikiTakaError):
    """The target cannot take the installation."""

    code = "move_no_target"


class ForeignTarget(TikiTakaError):
    """The target holds something that did not come from this installation."""

    code = "move_foreign_target"


def require_embedded() -> None:
    """The configured database must be an SQLite file that is there; asking must not make an empty one."""
    connection = connections[SOURCE]
    if connection.vendor != "sqlite":
        raise NoSource(f"only an SQLite installation is moved; the configured database is {connection.vendor}")
    if not Path(connection.settings_dict["NAME"]).is_file():
        raise NoSource(f"there is no installation: {connection.settings_dict['NAME']} does not exist")


@contextmanager
def held_still() -> Iterator[None]:
    """Holds SQLite's one write lock, so that no other process changes a row while the block runs."""
    with ExitStack() as stack:
        try:
            stack.enter_context(transaction.atomic(using=SOURCE))
        except OperationalError as error:
            raise StillWorking("another process keeps writing to the installation; end it and call again") from error
        yield


def require_movable() -> None:
    """Nothing may be half way: no migration, no attempt, no reference to a row that is gone."""
    if _unapplied(SOURCE):
        raise NoSource("the installation is behind the code; run manage.py migrate first")
    leases = AgentLease.objects.using(SOURCE).count()
    if leases:
        raise StillWorking(
            f"{leases} attempts hold their agents; stop whatever runs them, wait until their leases have run out"
            " (a minute), run manage.py sweep and call again"
        )
    try:
        connections[SOURCE].check_constraints()
    except DatabaseError as error:
        raise NoSource(f"the installation refers to rows that are gone: {error}") from error


@contextmanager
def connected(database: dict[str, Any]) -> Iterator[None]:
    """Makes `database` known as TARGET while the block runs, held against every other move."""
    connections.settings[TARGET] = database
    connections.configure_settings(connections.settings)
    try:
        _lock_target()
        yield
    finally:
        connections[TARGET].close()
        del connections[TARGET], connections.settings[TARGET]


def _lock_target() -> None:
    """Waits for the server to notice that an earlier move was killed: until then it may still write."""
    try:
        with connections[TARGET].cursor() as cursor:
            cursor.execute("SELECT current_setting('server_encoding')")
            encoding = cursor.fetchone()[0]
            cursor.execute("SET lock_timeout = '30s'")
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            cursor.execute("SET lock_timeout = DEFAULT")
    except OperationalError as error:
        raise NoTarget(f"the target cannot be used: {reason(error)}") from error
    if encoding != "UTF8":
        raise NoTarget(f"the target's encoding is {encoding}; it must be UTF8")


def require_own(all_tables: list[Table]) -> None:
    """Refuses a target with anything that is not the beginning of this installation, before anything is written."""
    present = set(connections[TARGET].introspection.table_names())
    foreign = present - {table.name for table in all_tables} - _NOT_MODELS
    if foreign:
        raise ForeignTarget(f"the target holds tables of something else: {', '.join(sorted(foreign)[:5])}")
    for table in all_tables:
        if table.name in present - MADE_BY_MIGRATION and not _is_beginning(table):
            raise ForeignTarget(
                f"{table.name}: the target holds rows that this installation does not have; it belongs to another"
                " one, or is in use already. Give an empty database"
            )


def _is_beginning(table: Table) -> bool:
    """True when the target's rows are the first of the source's, by their places."""
    there = table.keys(TARGET)
    return all(key == other for key, other in zip(there, _padded(table.keys(SOURCE)), strict=False))


def _padded(keys: Iterator[Any]) -> Iterator[Any]:
    """The keys, and then None for ever: a target with more rows than the source differs from it."""
    yield from keys
    while True:
        yield None


def migrate() -> None:
    """Makes the target's tables and triggers as this code wants them."""
    if _unapplied(TARGET):
        call_command("migrate", database=TARGET, verbosity=0)
    missing = set(triggers.expected(connections[TARGET])) - triggers.installed(connections[TARGET])
    if missing:
        raise NoTarget(f"the ledger's triggers are missing in the target: {', '.join(sorted(missing))}")


def _unapplied(alias: str) -> bool:
    executor = MigrationExecutor(connections[alias])
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@contextmanager
def standing_in() -> Iterator[None]:
    """While the block runs the target is the default database, for readers that know no other."""
    source = connections[SOURCE]
    connections[SOURCE] = connections[TARGET]
    try:
        yield
    finally:
        connections[SOURCE] = source


def reason(error: Exception) -> str:
    """What PostgreSQL said, without the row's own text that may follow it."""
    cause = error.__cause__ or error
    said = getattr(getattr(cause, "diag", None), "message_primary", None)
    return said or str(cause).strip().splitlines()[0]
