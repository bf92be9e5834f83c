"""The workers' way in: `celery -A config.celery worker -Q nodes ...`. The tasks stand in apps.conductor.broker."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.production")
django.setup()

from apps.conductor.broker import app  # noqa: E402 after Django is ready

__all__ = ["app"]
