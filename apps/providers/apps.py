"""Language models, encoders with their vector cache, agent runtimes."""

from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "apps.providers"
    verbose_name = "Providers"
