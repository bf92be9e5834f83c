"""What the application's role may do on PostgreSQL: everything to the product's rows, but the ledger only grows.

The tables belong to another role, which migrates: an owner can switch triggers off, and a superuser more than that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from apps.ledger.triggers import ENTRY, LOG
from tikitaka.errors import TikiTakaError

# What the application writes to the two tables that triggers protect; the head of a log moves by these columns only.
_MOVED = ("size", "tip", "last_at")
_MIGRATIONS = "django_migrations"
_ROWS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_NEVER = ("TRUNCATE", "TRIGGER", "REFERENCES")


class CannotGrant(TikiTakaError):
    """The role cannot be the application's."""

    code = "cannot_grant"


def grant_application(role: str) -> list[str]:
    """Gives `role` what the application needs and takes what is more; returns the tables. As often as one likes.

    Raises CannotGrant when the role could undo a refusal all the same; nothing is changed then.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql":
        raise CannotGrant(f"{connection.display_name} has no roles; this is for PostgreSQL")
    with transaction.atomic(), connection.cursor() as cursor:
        tables = sorted(connection.introspection.django_table_names(only_existing=True, include_views=False))
        tables += [_MIGRATIONS]
        if not {ENTRY, LOG} <= set(tables):
            raise CannotGrant("the tables are not there yet; run manage.py migrate first")
        _refuse_the_mighty(cursor, role, tables)
        for statement in _statements(cursor, connection.ops.quote_name, role, tables):
            cursor.execute(statement)
        _refuse_the_rest(cursor, role, tables)
    return tables


def _refuse_the_mighty(cursor: Any, role: str, tables: list[str]) -> None:
    cursor.execute("SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = %s", [role])
    found = cursor.fetchone()
    if found is None:
        raise CannotGrant(f"there is no role {role!r}")
    if found[0]:
        raise CannotGrant(f"{role!r} is a superuser, whom no grant binds")
    if found[1]:
        raise CannotGrant(f"{role!r} may make roles, and with them itself a member of others")
    cursor.execute(
        "SELECT 'the table ' || relname, relowner FROM pg_class WHERE oid = ANY(%(tables)s::regclass[])"
        " UNION ALL SELECT 'the schema ' || nspname, nspowner FROM pg_namespace WHERE nspname = current_schema()"
        " UNION ALL SELECT 'the database ' || datname, datdba FROM pg_database WHERE datname = current_database()"
        " ORDER BY 1",
        {"tables": tables},
    )
    for name, owner in cursor.fetchall():
        cursor.execute(
            "SELECT pg_has_role(%(role)s, %(owner)s, 'MEMBER'), pg_has_role(%(owner)s, 'USAGE')",
            {"role": role, "owner": owner},
        )
        of_the_owner, ours = cursor.fetchone()
        if of_the_owner:
            raise CannotGrant(f"{role!r} owns {name}, alone or as a member of its owner")
        if name.startswith("the table") and not ours:
            raise CannotGrant(f"whoever is connected does not own {name}; run this as the role that migrates")


def _statements(cursor: Any, quote: Any, role: str, tables: list[str]) -> Iterable[str]:
    name, listed = quote(role), ", ".join(map(quote, tables))
    rows = ", ".join(quote(table) for table in tables if table not in (ENTRY, LOG, _MIGRATIONS))
    cursor.execute("SELECT quote_ident(current_schema())")
    schema = cursor.fetchone()[0]
    yield f"REVOKE ALL ON {listed} FROM {name}"
    yield f"GRANT USAGE ON SCHEMA {schema} TO {name}"
    yield f"REVOKE CREATE ON SCHEMA {schema} FROM {name}"
    yield f"GRANT {', '.join(_ROWS)} ON {rows} TO {name}"
    yield f"GRANT SELECT, INSERT ON {quote(ENTRY)}, {quote(LOG)} TO {name}"
    yield f"GRANT UPDATE ({', '.join(map(quote, _MOVED))}) ON {quote(LOG)} TO {name}"
    yield f"GRANT SELECT ON {quote(_MIGRATIONS)} TO {name}"
    for sequence in _sequences(cursor, tables):
        yield f"REVOKE ALL ON SEQUENCE {sequence} FROM {name}"
        yield f"GRANT USAGE, SELECT ON SEQUENCE {sequence} TO {name}"


def _sequences(cursor: Any, tables: list[str]) -> list[str]:
    """The sequences that number the rows of some tables, quoted where they must be."""
    cursor.execute(
        "SELECT DISTINCT dependent.oid::regclass::text FROM pg_depend JOIN pg_class dependent ON dependent.oid = objid"
        " WHERE dependent.relkind = 'S' AND refobjid = ANY(%s::regclass[]) ORDER BY 1",
        [tables],
    )
    return [name for (name,) in cursor.fetchall()]


def _refuse_the_rest(cursor: Any, role: str, tables: list[str]) -> None:
    """What the role may do through PUBLIC or another role counts as well, and is not ours to take."""
    forbidden = [(table, right) for table in tables for right in _NEVER]
    forbidden += [(table, right) for table in (ENTRY, LOG) for right in ("UPDATE", "DELETE")]
    for table, right in forbidden:
        cursor.execute("SELECT has_table_privilege(%s, %s::regclass, %s)", [role, table, right])
        if cursor.fetchone()[0]:
            raise CannotGrant(f"{role!r} may {right} {table} all the same, through PUBLIC or a role it is a member of")
    cursor.execute("SELECT has_any_column_privilege(%s, %s::regclass, 'UPDATE')", [role, ENTRY])
    if cursor.fetchone()[0]:
        raise CannotGrant(f"{role!r} may UPDATE a column of {ENTRY} all the same, through PUBLIC or another role")
