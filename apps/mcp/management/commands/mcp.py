"""manage.py mcp"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connections

from apps.mcp.server import build, from_environment
from tikitaka.errors import TikiTakaError


class Command(BaseCommand):
    help = "Serve one agent over MCP on standard input and output; its token is in TIKITAKA_TOKEN."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            from_environment()
        except TikiTakaError as refused:
            raise CommandError(f"{refused.code}: set TIKITAKA_TOKEN to the token of an agent") from refused
        connections.settings[DEFAULT_DB_ALIAS]["CONN_MAX_AGE"] = None  # one agent asks again and again: keep it open
        build(from_environment).run("stdio")
