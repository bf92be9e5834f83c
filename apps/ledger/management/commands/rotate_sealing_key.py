"""manage.py rotate_sealing_key"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.ledger.services.rotation import rotate_sealing_key

_COUNTS = ("rewrapped", "already", "destroyed", "unreadable")


class Command(BaseCommand):
    help = (
        "Wrap the keys of sealed text under the sealing key that is configured now, instead of the old one. Prints"
        " counts as JSON; exit code 1 when a key opens with neither. May be called again at any time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--old-file", type=Path, required=True, help="the file that holds the old sealing key")

    def handle(self, *args: Any, **options: Any) -> None:
        met = rotate_sealing_key(old=_old_key(options["old_file"]))
        self.stdout.write(json.dumps({name: met[name] for name in _COUNTS}))
        if met["unreadable"]:
            raise CommandError(
                f"Keys that open with neither sealing key: {met['unreadable']}. They were left as they are.",
                returncode=1,
            )


def _old_key(path: Path) -> str:
    try:
        old = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read.", returncode=2) from error
    if not old:
        raise CommandError(f"{path} is empty.", returncode=2)
    if old == settings.TIKITAKA_SEALING_KEY:
        raise CommandError("That is the sealing key which is configured now, not the old one.", returncode=2)
    return old
