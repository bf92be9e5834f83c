"""manage.py ledger_verify"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.ledger import selectors
from tikitaka.ledger.chain import Broken


class Command(BaseCommand):
    help = "Recompute every log from its stored bytes and say whether it is what was written. Exit code 1 when not."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organization", type=UUID, help="only the logs of this organization (its id)")
        parser.add_argument("--json", action="store_true", help="one JSON object a log")

    def handle(self, *args: Any, **options: Any) -> None:
        results = [selectors.verify_log(log) for log in selectors.logs(options["organization"])]
        if not results:
            raise CommandError("There is no log to verify.", returncode=2)
        for result in results:
            broken = result.result if isinstance(result.result, Broken) else None
            if options["json"]:
                document: dict[str, Any] = {"origin": result.origin, "entries": result.entries, "valid": result.valid}
                if broken:
                    document |= {"seq": broken.seq, "rule": broken.rule, "detail": broken.detail}
                self.stdout.write(json.dumps(document))
            elif broken:
                self.stdout.write(f"BROKEN  {result.origin}: entry {broken.seq}, rule {broken.rule}: {broken.detail}")
            else:
                self.stdout.write(f"valid   {result.origin}: {result.entries} entries")
        if not all(result.valid for result in results):
            raise CommandError("A log is not what was written.", returncode=1)
