"""manage.py demo"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from apps.conductor.pool import embedded_pool
from apps.console.demonstration import report
from apps.console.demonstration.cast import MARK, PASSWORD
from apps.console.demonstration.tale import TaleBroken, tell
from apps.console.serving import served_here


class Command(BaseCommand):
    help = "Watch a rule that one agent stated travel to exactly one other agent. Recreates its own data folder."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object on stdout, progress on stderr")

    def handle(self, *args: Any, **options: Any) -> None:
        _empty(Path(settings.TIKITAKA_DATA))
        settings.TIKITAKA_PLANNER = settings.TIKITAKA_EXTRACTOR = "replay"
        settings.TIKITAKA_EMBEDDER = "sbert"
        call_command("migrate", verbosity=0)
        out = self.stderr if options["json"] else self.stdout
        try:
            with embedded_pool() as pool:
                tale = tell(pool, policy=settings.TIKITAKA_POLICY, progress=lambda line: out.write(f"- {line}"))
        except TaleBroken as error:
            raise CommandError(f"The demonstration did not come out as it should: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(tale), ensure_ascii=False))
            return
        for line in report.as_text(tale):
            self.stdout.write(line)
        self.stdout.write(
            f"\nNow `make serve` and log in as operator, reviewer, auditor or owner with the password {PASSWORD}"
        )


def _empty(folder: Path) -> None:
    """Removes what an earlier demonstration left; anything else in that place is not ours to delete."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise CommandError(
                f"{folder} holds data that is not the demonstration's; set TIKITAKA_DATA to another folder"
            )
        if served_here(folder):
            raise CommandError("The demonstration's data is being served; stop `make serve` first")
        connections.close_all()
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()
