"""One machine, one process: SQLite in the data folder, keys made there on first use."""

from __future__ import annotations

import secrets

from config.database import from_url, sqlite
from config.settings.base import *  # noqa: F403
from config.settings.base import TIKITAKA_DATA, env


def _own_key(name: str) -> str:
    """A key of this installation, made once and readable by its owner only."""
    folder = TIKITAKA_DATA.parent / f"{TIKITAKA_DATA.name}-keys"
    path = folder / name
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = folder / f".{name}.{secrets.token_hex(4)}"
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48), encoding="ascii")
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text(encoding="ascii").strip()


DEBUG = env.flag("TIKITAKA_DEBUG", default=False)
SECRET_KEY = env.text("SECRET_KEY", "") or _own_key("secret_key")
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
TIKITAKA_SEALING_KEY = env.text("TIKITAKA_SEALING_KEY", "") or _own_key("sealing_key")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
DATABASES = {
    "default": from_url(env.text("DATABASE_URL"))
    if env.text("DATABASE_URL", "")
    else sqlite(TIKITAKA_DATA / "tikitaka.sqlite3")
}
# On a machine of one's own a receiver beside the server is the first that people try.
TIKITAKA_WEBHOOK_PRIVATE = env.words("TIKITAKA_WEBHOOK_PRIVATE", "localhost,127.0.0.1,[::1]")
# Static files straight from where they lie: one machine needs no collecting.
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = None
