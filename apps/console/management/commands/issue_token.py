"""manage.py issue_token"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.selectors import principal_of
from apps.accounts.services.tokens import Issued
from apps.conductor.tokens import issue_service_token, issue_token_for_agent
from apps.console.naming import find_agent, find_organization, find_team, find_user
from tikitaka.authz import MACHINE_SCOPES, Permission
from tikitaka.errors import TikiTakaError

_SCOPES = sorted(scope.value for scope in MACHINE_SCOPES)
_DAYS = 30


class Command(BaseCommand):
    help = "Issue a token for a machine, in the name of a person who may. Prints the token on stdout, this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, help="login of the person who issues it")
        parser.add_argument("--name", required=True, help="what the token is for")
        parser.add_argument("--days", type=int, default=_DAYS, help=f"how long it is good (default {_DAYS})")
        parser.add_argument("--organization", help="id or name; for an orchestrator's token")
        parser.add_argument(
            "--scope", action="append", choices=_SCOPES, default=[], help="what it may do; once for each"
        )
        parser.add_argument(
            "--team", action="append", default=[], help="id or name; only these teams, once for each; else all of them"
        )
        parser.add_argument("--agent", help="id; for a token as which this agent speaks over MCP, instead of the above")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            issued = _for_agent(options) if options["agent"] else _for_orchestrator(options)
        except TikiTakaError as refused:
            raise CommandError(f"{refused.code}: {refused.detail}") from refused
        token = issued.token
        self.stderr.write(f"token {token.pk} of kind {token.kind}, until {token.expires_at:%Y-%m-%d %H:%M} UTC")
        self.stdout.write(str(issued.shown))


def _for_orchestrator(options: dict[str, Any]) -> Issued:
    if not options["organization"]:
        raise CommandError("give --organization with --scope, or --agent")
    organization = find_organization(options["organization"])
    teams = [find_team(name, organization).pk for name in options["team"]]
    return issue_service_token(
        actor=principal_of(find_user(options["user"]), {"methods": ["local_command"]}),
        organization=organization,
        name=options["name"],
        scopes={Permission(scope) for scope in options["scope"]},
        days=options["days"],
        teams=teams or None,
    )


def _for_agent(options: dict[str, Any]) -> Issued:
    given = [f"--{name}" for name in ("organization", "scope", "team") if options[name]]
    if given:
        raise CommandError(f"{given[0]} does not go with --agent: its token is that agent's alone")
    return issue_token_for_agent(
        actor=principal_of(find_user(options["user"]), {"methods": ["local_command"]}),
        agent=find_agent(options["agent"]),
        name=options["name"],
        days=options["days"],
    )
