"""manage.py doctor"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.doctor.diagnosis import Diagnosis, some
from apps.audit.doctor.examine import examine


class Command(BaseCommand):
    help = "Say what is stuck, why, and what to do. Exit code 1 while something needs a person."
    requires_system_checks = ()  # it must speak where a check would refuse

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = examine()
        needing = sum(diagnosis.needs_person for diagnosis in found)
        if options["json"]:
            shown = {"needs_person": bool(needing), "diagnoses": [asdict(diagnosis) for diagnosis in found]}
            self.stdout.write(json.dumps(shown))
        else:
            self._tell(found)
        if needing:
            raise CommandError(f"{some(needing, 'thing')} to be looked at by a person.", returncode=1)

    def _tell(self, found: Sequence[Diagnosis]) -> None:
        for diagnosis in found:
            self.stdout.write(f"{diagnosis.what}\n  Why: {diagnosis.why}\n  Do:  {diagnosis.do}")
        if not any(diagnosis.needs_person for diagnosis in found):
            self.stdout.write("Nothing needs a person.")
