"""Teams, their agents and each agent's private workspace."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "apps.teams"
    verbose_name = "Teams"
