"""What each attempt was given."""

from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "apps.context"
    verbose_name = "Context"
