"""Teams, their agents and each agent's private workspace."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TeamsConfig(AppConfig):
    name = "apps.teams"
    verbose_name = "Teams"

    def ready(self) -> None:
        post_migrate.connect(_grant_anew, sender=self)


def _grant_anew(**_: Any) -> None:
    """An upgrade may bring a permission that the roles of organizations founded before it do not hold yet."""
    from apps.teams.services.teams import derive_all_grants

    derive_all_grants()
