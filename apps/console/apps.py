"""The web door: admin, live task page, health."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "apps.console"
    verbose_name = "Console"
