"""An installation for others: every secret must be given, debugging is off, cookies travel over TLS only."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

from config.database import from_url
from config.settings.base import *  # noqa: F403
from config.settings.base import TIKITAKA_METRICS_TOKEN, env

DEBUG = False
if env.flag("TIKITAKA_DEBUG", default=False):
    raise ImproperlyConfigured("TIKITAKA_DEBUG must not be set in production")
SECRET_KEY = env.text("SECRET_KEY")
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
TIKITAKA_SEALING_KEY = env.text("TIKITAKA_SEALING_KEY")
if len(SECRET_KEY) < 50 or len(TIKITAKA_SEALING_KEY) < 32:
    raise ImproperlyConfigured("SECRET_KEY needs 50 characters, TIKITAKA_SEALING_KEY 32")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS")
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS is required")
DATABASES = {"default": from_url(env.text("DATABASE_URL"))}

SECURE_SSL_REDIRECT = env.flag("TIKITAKA_SSL_REDIRECT", default=True)
# Whoever asks from inside has no TLS; it learns nothing but a word, or holds the token of the metrics.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
if TIKITAKA_METRICS_TOKEN and len(TIKITAKA_METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("TIKITAKA_METRICS_TOKEN needs 20 characters")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
