"""What all settings share. Values that differ by installation come from the environment, see config.env."""

from __future__ import annotations

import os
from pathlib import Path

from django.templatetags.static import static

from config.broker import celery_settings
from config.cache import shared_cache
from config.env import Environment
from config.hosts import host_name, host_names
from config.logs import configure_structlog, logging_settings
from config.prices import prices
from tikitaka.policy import from_environment

# No library may look for weights on a network at run time.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

env = Environment()
BASE_DIR = Path(__file__).resolve().parents[2]

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "guardian",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "apps.ledger",
    "apps.accounts",
    "apps.providers",
    "apps.teams",
    "apps.tasks",
    "apps.context",
    "apps.memory",
    "apps.conductor",
    "apps.audit",
    "apps.api",
    "apps.mcp",
    "apps.console",
]

MIDDLEWARE = [
    "apps.console.middleware.RequestIdMiddleware",
    "apps.console.middleware.ContentSecurityPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend", "guardian.backends.ObjectPermissionBackend"]
ANONYMOUS_USER_NAME = None
GUARDIAN_MONKEY_PATCH_USER = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "/"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT: Path | None = BASE_DIR / "staticfiles"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

UNFOLD = {
    "SITE_TITLE": "Tiki-Taka",
    "SITE_HEADER": "Tiki-Taka",
    "SITE_SUBHEADER": "Nothing passes unwatched",
    "SITE_URL": "/",
    "STYLES": [lambda _: static("console/admin.css")],
    "SHOW_HISTORY": False,
}

# --- the product

TIKITAKA_POLICY = from_environment(os.environ)
TIKITAKA_DATA = env.path("TIKITAKA_DATA", BASE_DIR / "var" / "demo")
TIKITAKA_WORKSPACES = env.path("TIKITAKA_WORKSPACES", TIKITAKA_DATA / "workspaces")
TIKITAKA_HOST = host_name("TIKITAKA_HOST", env.text("TIKITAKA_HOST", ""))
TIKITAKA_HOSTS = host_names("TIKITAKA_HOSTS", env.words("TIKITAKA_HOSTS"), own=TIKITAKA_HOST)
TIKITAKA_LEDGER_ORIGIN = env.text("TIKITAKA_LEDGER_ORIGIN", "tikitaka.localhost")
TIKITAKA_PLANNER = env.choice("TIKITAKA_PLANNER", "off", ("openai", "replay", "off"))
TIKITAKA_EXTRACTOR = env.choice("TIKITAKA_EXTRACTOR", "off", ("openai", "replay", "off"))
TIKITAKA_EMBEDDER = env.choice("TIKITAKA_EMBEDDER", "sbert", ("sbert", "fake", "off"))
TIKITAKA_REPLAY = env.path("TIKITAKA_REPLAY", TIKITAKA_DATA / "replay")
TIKITAKA_MODEL_URL = env.text("TIKITAKA_MODEL_URL", "")
TIKITAKA_MODEL_NAME = env.text("TIKITAKA_MODEL_NAME", "")
TIKITAKA_MODEL_KEY = env.text("TIKITAKA_MODEL_KEY", "")
TIKITAKA_PRICES = prices(env.text("TIKITAKA_PRICES", ""))
TIKITAKA_WORKERS = env.number("TIKITAKA_WORKERS", 8, low=1, high=64)
TIKITAKA_DRAIN_S = env.number("TIKITAKA_DRAIN_S", 600, low=0, high=3_600)

# --- the REST door

CACHES = {"default": shared_cache(env.text("TIKITAKA_CACHE_URL", "") or env.text("REDIS_URL", ""))}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.api.authentication.BearerAuthentication",
        "apps.api.authentication.PersonAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["apps.api.parsing.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_THROTTLE_CLASSES": ["apps.api.throttling.CallerThrottle"],
    "DEFAULT_SCHEMA_CLASS": "apps.api.schema.DoorSchema",
    "EXCEPTION_HANDLER": "apps.api.errors.handle",
    "URL_FORMAT_OVERRIDE": None,  # an address answers in one form; `Accept` may name it, a parameter may not
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tiki-Taka",
    "VERSION": "1",
    "DESCRIPTION": "Governed cross-agent memory for orchestrators.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "TaskStatus": "apps.tasks.models.TaskStatus",
        "AttemptStatus": "apps.tasks.models.AttemptStatus",
        "NodeStatus": "apps.api.shapes.work.NODE_STATES",
        "SpanKind": "apps.tasks.models.SpanKind",
        "NoteStatus": "apps.api.shapes.memory.NOTE_STATES",
        "SegmentStatus": "apps.memory.models.SegmentStatus",
        "LandingStatus": "apps.memory.models.LandingStatus",
        "IncidentKind": "apps.conductor.models.IncidentKind",
        "TokenKind": "apps.api.shapes.memory.TOKEN_KINDS",
        "PlanSource": "apps.tasks.models.PlanSource",
        "ErrorKind": "apps.api.shapes.external.REPORTABLE",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.api.schema.refuse_unknown_fields",
    ],
}

# --- webhooks: hosts that may have addresses which are not public; nothing else is sent into the inner network

TIKITAKA_WEBHOOK_PRIVATE = env.words("TIKITAKA_WEBHOOK_PRIVATE")

# --- the broker: without one the embedded binding does everything in one process

TIKITAKA_BROKER_URL = env.text("TIKITAKA_BROKER_URL", "") or env.text("REDIS_URL", "")
TIKITAKA_EMBED_HERE = env.flag("TIKITAKA_EMBED_HERE", default=not TIKITAKA_BROKER_URL)
TIKITAKA_EMBED_WAIT_S = env.number("TIKITAKA_EMBED_WAIT_S", 60, low=1, high=600)
globals().update(celery_settings(TIKITAKA_BROKER_URL, prefix=env.text("TIKITAKA_BROKER_PREFIX", "")))

# --- watching: without a token there is no page for metrics

TIKITAKA_METRICS_TOKEN = env.text("TIKITAKA_METRICS_TOKEN", "")

LOGGING = logging_settings(env.choice("TIKITAKA_LOG", "WARNING", ("DEBUG", "INFO", "WARNING", "ERROR")))
configure_structlog()
