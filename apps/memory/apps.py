"""Segments, notes, review and landings."""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "apps.memory"
    verbose_name = "Memory"
