from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The REST door at /api/v1/."""

    name = "apps.api"
    verbose_name = "API"

    def ready(self) -> None:
        """The description knows our way of authenticating as soon as it is asked for."""
        from apps.api import schema  # noqa: F401
