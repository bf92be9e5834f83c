"""Logs, append-only entries and the one way to write them. Knows an organization only as a UUID."""

from django.apps import AppConfig
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate


class LedgerConfig(AppConfig):
    name = "apps.ledger"
    verbose_name = "Ledger"

    def ready(self) -> None:
        from apps.ledger import triggers

        # A table rebuild on SQLite drops triggers without a word, so they are put back after every migration.
        post_migrate.connect(triggers.reinstall, sender=self)
        register(triggers.check_installed, Tags.database)
