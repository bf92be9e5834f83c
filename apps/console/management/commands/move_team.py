"""manage.py move_team"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.accounts.selectors import principal_of
from apps.conductor.relocation import move_team
from apps.console.naming import find_team
from tikitaka.errors import TikiTakaError
from tikitaka.hosts import root


class Command(BaseCommand):
    help = "Bind a paused team to this host, after its folders were copied into this host's workspace root."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", help="id of the team, or its name where that is unique")
        parser.add_argument("host", help="TIKITAKA_HOST of this process; '' for the root without a name")
        parser.add_argument("--user", required=True, help="login of the person who moves it")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"--user: nobody logs in as {options['user']}")
        team = find_team(options["team"])
        before = team.host
        try:
            drifted = move_team(actor=principal_of(user), team=team, host=options["host"])
        except TikiTakaError as refused:
            raise CommandError(f"{refused.code}: {refused.detail}") from refused
        self.stdout.write(f"{team.name} lies {root(options['host'])} now. Delete its folder {root(before)}.")
        for item in drifted:
            self.stdout.write(f"{item.file or 'workspace'} of agent {item.agent}: {item.fault}")
        if drifted:
            raise CommandError("What was copied is not what the record says: manage.py reconcile --restore mends it.")
