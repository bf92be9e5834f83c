"""The database itself refuses to change or remove an entry, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

ENTRY = "ledger_entry"
LOG = "ledger_log"

_SQLITE = {
    "ledger_entry_no_update": f"""CREATE TRIGGER ledger_entry_no_update BEFORE UPDATE ON {ENTRY}
        BEGIN SELECT RAISE(ABORT, 'the ledger only grows: UPDATE refused'); END""",
    "ledger_entry_no_delete": f"""CREATE TRIGGER ledger_entry_no_delete BEFORE DELETE ON {ENTRY}
        BEGIN SELECT RAISE(ABORT, 'the ledger only grows: DELETE refused'); END""",
    "ledger_entry_next_only": f"""CREATE TRIGGER ledger_entry_next_only BEFORE INSERT ON {ENTRY}
        WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq) + 1, 0) FROM {ENTRY} WHERE log_id = NEW.log_id)
            OR EXISTS (SELECT 1 FROM {ENTRY} WHERE id = NEW.id)
        BEGIN SELECT RAISE(ABORT, 'the ledger only grows: not the next entry'); END""",
    "ledger_log_no_delete": f"""CREATE TRIGGER ledger_log_no_delete BEFORE DELETE ON {LOG}
        BEGIN SELECT RAISE(ABORT, 'the ledger only grows: DELETE refused'); END""",
    "ledger_log_forward_only": f"""CREATE TRIGGER ledger_log_forward_only BEFORE UPDATE ON {LOG}
        WHEN NEW.size < OLD.size OR NEW.origin IS NOT OLD.origin OR NEW.organization_id IS NOT OLD.organization_id
            OR (NEW.size = OLD.size AND NEW.tip IS NOT OLD.tip)
        BEGIN SELECT RAISE(ABORT, 'the ledger only grows: head moved back'); END""",
}

_POSTGRES_FUNCTIONS = f"""
CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'the ledger only grows: ' || TG_OP || ' refused';
END $$;
CREATE OR REPLACE FUNCTION ledger_next_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    -- By order and not by MAX: a server that knows nothing of a new table yet would read the whole log for that.
    SELECT seq INTO newest FROM {ENTRY} WHERE log_id = NEW.log_id ORDER BY seq DESC LIMIT 1;
    IF NEW.seq IS DISTINCT FROM COALESCE(newest + 1, 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'the ledger only grows: not the next entry';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION ledger_forward_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.size < OLD.size OR NEW.origin <> OLD.origin OR NEW.organization_id <> OLD.organization_id
        OR (NEW.size = OLD.size AND NEW.tip <> OLD.tip) THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'the ledger only grows: head moved back';
    END IF;
    RETURN NEW;
END $$;
"""
_POSTGRES = {
    "ledger_entry_no_change": f"""CREATE TRIGGER ledger_entry_no_change BEFORE UPDATE OR DELETE ON {ENTRY}
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse()""",
    "ledger_entry_no_truncate": f"""CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON {ENTRY}
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()""",
    "ledger_entry_next_only": f"""CREATE TRIGGER ledger_entry_next_only BEFORE INSERT ON {ENTRY}
        FOR EACH ROW EXECUTE FUNCTION ledger_next_only()""",
    "ledger_log_no_delete": f"""CREATE TRIGGER ledger_log_no_delete BEFORE DELETE ON {LOG}
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse()""",
    "ledger_log_no_truncate": f"""CREATE TRIGGER ledger_log_no_truncate BEFORE TRUNCATE ON {LOG}
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()""",
    "ledger_log_forward_only": f"""CREATE TRIGGER ledger_log_forward_only BEFORE UPDATE ON {LOG}
        FOR EACH ROW EXECUTE FUNCTION ledger_forward_only()""",
}


def expected(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """The statements by trigger name; NotImplementedError on a database where the promise cannot be kept."""
    if connection.vendor == "sqlite":
        return _SQLITE
    if connection.vendor == "postgresql":
        return _POSTGRES
    raise NotImplementedError(f"no append-only triggers for {connection.vendor}")


def installed(connection: BaseDatabaseWrapper) -> set[str]:
    """The names of our triggers that are in place."""
    wanted = expected(connection)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        else:
            cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'")
        return {name for (name,) in cursor.fetchall() if name in wanted}


def install(connection: BaseDatabaseWrapper) -> None:
    """Puts in place whatever is missing; calling it twice changes nothing."""
    present = installed(connection)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_POSTGRES_FUNCTIONS, None)
        for name, statement in expected(connection).items():
            if name not in present:
                cursor.execute(statement, None)


def uninstall(connection: BaseDatabaseWrapper) -> None:
    """For the reverse migration, which drops the tables next."""
    with connection.cursor() as cursor:
        for name in installed(connection):
            table = LOG if name.startswith("ledger_log") else ENTRY
            cursor.execute(f"DROP TRIGGER {name}" + ("" if connection.vendor == "sqlite" else f" ON {table}"))


def reinstall(using: str, **_: Any) -> None:
    """After a migration: the table may have been rebuilt."""
    connection = connections[using]
    if {ENTRY, LOG} <= set(connection.introspection.table_names()):
        install(connection)


def check_installed(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """A start-up check: an installation whose triggers are gone must not look healthy."""
    messages: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        if {ENTRY, LOG} <= set(connection.introspection.table_names()):
            missing = set(expected(connection)) - installed(connection)
            if missing:
                hint = "Run manage.py migrate, and find out who removed them."
                text = f"The ledger's triggers are missing: {', '.join(sorted(missing))}"
                messages.append(Error(text, hint=hint, id="ledger.E001"))
    return messages
