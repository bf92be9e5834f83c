"""manage.py move_database"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.moving import Moved, move
from apps.audit.moving.ends import require_embedded
from apps.console.serving import serving
from config.database import from_url
from tikitaka.errors import TikiTakaError

_VARIABLE = "TIKITAKA_MOVE_TO"
_FORM = "postgres://user:password@host:port/name, with special characters of the password written as %xx"


class Command(BaseCommand):
    help = "Copy this embedded installation to PostgreSQL and prove both alike. Called again it goes on where it stood."

    def add_arguments(self, parser: CommandParser) -> None:
        given = parser.add_mutually_exclusive_group()
        given.add_argument("--to", metavar="URL", help="the target; other users of this machine can read arguments")
        given.add_argument("--to-file", metavar="PATH", help=f"a file with the URL; or set {_VARIABLE}")
        parser.add_argument("--json", action="store_true", help="print one JSON object on stdout, progress on stderr")

    def handle(self, *args: Any, **options: Any) -> None:
        target = _target(options)
        out = self.stderr if options["json"] else self.stdout
        try:
            require_embedded()
            with serving(Path(settings.TIKITAKA_DATA)) as free:
                if not free:
                    raise CommandError(f"{settings.TIKITAKA_DATA} is being served; stop that process and call again")
                moved = move(target, progress=out.write)
        except TikiTakaError as refused:
            raise CommandError(f"{refused.code}: {refused.detail}") from refused
        if options["json"]:
            self.stdout.write(json.dumps(asdict(moved)))
        else:
            self._say(moved)

    def _say(self, moved: Moved) -> None:
        self.stdout.write(
            f"{moved.rows} rows in {moved.tables} tables and {moved.logs} logs with {moved.entries} entries"
            f" are alike at both ends ({moved.seconds} s). Sessions were left out: people log in again."
        )
        self.stdout.write(
            f"Workspaces were not moved: TIKITAKA_WORKSPACES must go on naming {settings.TIKITAKA_WORKSPACES}"
            " or its copy. SECRET_KEY and TIKITAKA_SEALING_KEY must stay what they are."
        )
        self.stdout.write("Next: set DATABASE_URL to the target's URL, and do not serve the old database again.")


def _target(options: dict[str, Any]) -> dict[str, Any]:
    """Settings of the target; no message repeats what was given, which holds a password."""
    try:
        database = from_url(_given(options))
    except (ImproperlyConfigured, ValueError):
        database = {"ENGINE": ""}
    if not database["ENGINE"].endswith("postgresql"):
        raise CommandError(f"The target must be {_FORM}.")
    return database


def _given(options: dict[str, Any]) -> str:
    if options["to_file"]:
        try:
            return Path(options["to_file"]).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise CommandError(f"--to-file cannot be read: {error.strerror}") from error
    url = options["to"] or os.environ.get(_VARIABLE, "")
    if not url:
        raise CommandError(f"Say where to: --to-file PATH, the variable {_VARIABLE} or --to URL.")
    return str(url)
