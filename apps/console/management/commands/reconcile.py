"""manage.py reconcile"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conductor.models import Incident
from apps.conductor.sweep import reconcile
from apps.teams.hosts import hosts_with_teams, is_here
from tikitaka.hosts import root


class Command(BaseCommand):
    help = "Compare every workspace with the record, every log with its bytes. Exit code 1 while incidents are open."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--restore", action="store_true", help="write files that are wholly ours anew from the record"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        open_incidents = reconcile(restore=options["restore"])
        for host, teams in sorted(hosts_with_teams().items()):
            if not is_here(host):
                self.stderr.write(f"{teams} of the teams lie {root(host)} and are compared there.")
        if not open_incidents:
            self.stdout.write("Disk and record agree, every log is what was written.")
            return
        for incident in Incident.objects.filter(closed_at=None).order_by("opened_at"):
            self.stdout.write(f"{incident.kind}: {incident.subject}: {incident.detail}")
        raise CommandError("Incidents are open.", returncode=1)
