"""The security agent: looks at what the server exposes and states the rule."""

from pathlib import Path

import voice

SETTINGS = Path("code/apps/server/settings.py")

voice.hear()
voice.think("Look at what the server settings expose before answering.")
voice.ran(f"cat {SETTINGS}", SETTINGS.read_text(encoding="utf-8") if SETTINGS.exists() else "")
voice.answer(
    "Reviewed the upload settings. The frontend only needs the public API contract. Do not expose backend env values."
)
