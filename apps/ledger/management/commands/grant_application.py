"""manage.py grant_application"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.ledger.roles import CannotGrant, grant_application


class Command(BaseCommand):
    help = (
        "Give the application's PostgreSQL role its rights: all rows, but the ledger only to read and to append."
        " Run as the role that owns the tables, after every migrate."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", help="the role that the application connects as; it must exist")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            tables = grant_application(options["role"])
        except CannotGrant as error:
            raise CommandError(f"Nothing was granted: {error.detail}.", returncode=1) from error
        self.stdout.write(
            f"{options['role']} may work with {len(tables)} tables; the ledger it may read and append to."
        )
