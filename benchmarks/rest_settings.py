"""The embedded installation with the addresses of the benchmark; sessions need no row."""

from __future__ import annotations

from config.settings.embedded import *  # noqa: F403

ROOT_URLCONF = "rest_urls"
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
