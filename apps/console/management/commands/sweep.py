"""manage.py sweep"""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conductor.pool import embedded_pool
from apps.conductor.sweep import sweep


class Command(BaseCommand):
    help = "Find by query whatever a lost wake-up or a dead worker left, and finish it. Safe at any time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--timeout", type=int, default=600, help="seconds to wait for the work (default 600)")

    def handle(self, *args: Any, **options: Any) -> None:
        with embedded_pool() as pool:
            found = sweep()
            if not pool.drain(options["timeout"]):
                raise CommandError("The work did not end in time; what is left is found by the next sweep.")
        self.stdout.write(json.dumps({name: count for name, count in sorted(found.items()) if count}))
