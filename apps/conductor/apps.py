"""The story from prompt to landed note."""

from functools import partial

from django.apps import AppConfig


class ConductorConfig(AppConfig):
    name = "apps.conductor"
    verbose_name = "Conductor"

    def ready(self) -> None:
        from apps.conductor.wake import wake
        from apps.providers.embedding.remote import bind_hurry

        bind_hurry(partial(wake, "embed"))
