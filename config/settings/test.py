"""The suite: a database file of its own (threads need one), a fake encoder, no model."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from config.database import from_url, sqlite
from config.settings.base import *  # noqa: F403

_SCRATCH = Path(tempfile.mkdtemp(prefix="tikitaka-tests-"))
atexit.register(shutil.rmtree, _SCRATCH, ignore_errors=True)

DEBUG = False
SECRET_KEY = "tests" * 10
TIKITAKA_SEALING_KEY = "seal" * 12
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
DATABASES = {
    "default": from_url(os.environ["DATABASE_URL"]) if os.environ.get("DATABASE_URL") else sqlite(_SCRATCH / "db")
}
DATABASES["default"]["CONN_MAX_AGE"] = 0  # a thread that a test leaves keeps no session on the server
if not os.environ.get("DATABASE_URL"):
    DATABASES["default"]["TEST"] = {"NAME": str(_SCRATCH / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] = (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA recursive_triggers=ON;"
    )
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TIKITAKA_DATA = _SCRATCH / "data"
TIKITAKA_WORKSPACES = _SCRATCH / "workspaces"
TIKITAKA_REPLAY = _SCRATCH / "replay"
TIKITAKA_EMBEDDER = "fake"
TIKITAKA_EMBED_HERE = True
TIKITAKA_BROKER_URL = ""
TIKITAKA_PLANNER = "off"
TIKITAKA_EXTRACTOR = "off"
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = None
