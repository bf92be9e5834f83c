"""The story from prompt to landed note."""

from django.apps import AppConfig


class ConductorConfig(AppConfig):
    name = "apps.conductor"
    verbose_name = "Conductor"
