"""manage.py prune"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from apps.conductor.retention import prunable, prune

_COUNTS = ("tasks", "spans", "messages", "contexts", "outputs", "deliveries")


class Command(BaseCommand):
    help = "Remove the words of tasks that ended longer ago than the policy keeps them. Prints counts as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count only, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        count = prunable if options["dry_run"] else prune
        found = count(policy=settings.TIKITAKA_POLICY)
        self.stdout.write(json.dumps({name: found[name] for name in _COUNTS}))
