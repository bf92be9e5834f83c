"""manage.py import_transcript"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from apps.accounts.models import Membership, User
from apps.accounts.selectors import principal_of
from apps.conductor.import_writer import Imported
from apps.conductor.importing import import_read
from apps.conductor.pool import embedded_pool
from apps.conductor.story import close_thread
from apps.memory.models import Note, Segment
from apps.memory.selectors import open_segment
from apps.teams.models import Agent, Team
from apps.teams.selectors import access_team
from tikitaka.authz import Permission, Principal
from tikitaka.authz.permissions import ROLE_PERMISSIONS
from tikitaka.capture.documents import read_document
from tikitaka.capture.sessions import UnreadableSession
from tikitaka.capture.turns import DamagedLine
from tikitaka.errors import Invalid, NotFound, TikiTakaError
from tikitaka.text import name_key, require

_FILE_BYTES_MAX = 512 * 1024 * 1024


class Command(BaseCommand):
    help = (
        "Brings in sessions recorded elsewhere: output and session files of Codex and Claude Code, traces of "
        "OpenTelemetry as OTLP JSON, and the plain form described in docs/import.md. Bringing in the same session "
        "again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", required=True, help="id of the team, or its name where only one team has it")
        parser.add_argument(
            "--agent",
            help="id of the agent, or its name within the team; may be left out for traces, which name their agents",
        )
        parser.add_argument(
            "--user",
            help="login of the person who imports, who needs the right to import into this team; may be left out "
            "where only one person has it",
        )
        parser.add_argument("--prompt", help="what was asked, for files whose form does not say")
        parser.add_argument(
            "--close",
            action="store_true",
            help="close the team's thread of work afterwards, so that notes are made now",
        )
        parser.add_argument("files", nargs="+", metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        team, agent, actor = _resolve(options["team"], options["agent"], options["user"])
        prompt = _prompt(options["prompt"])
        unread = 0
        with embedded_pool() as pool:
            for number, name in enumerate(options["files"], start=1):
                place = f"[{number}/{len(options['files'])}] {name}"
                unread += not self._bring_in(place, Path(name), prompt, team, agent, actor)
            pool.drain()
            if options["close"] and (segment := self._close(team, actor)) is not None:
                pool.drain()
                notes = Note.objects.filter(segment=segment).count()
                self.stdout.write(f"The thread of work is closed; it gave {notes} notes.")
        if unread:
            raise CommandError(f"{unread} of {len(options['files'])} files could not be read", returncode=1)

    def _bring_in(
        self, place: str, path: Path, prompt: str | None, team: Team, agent: Agent | None, actor: Principal
    ) -> bool:
        """False when the file could not be read at all; every damaged line or span is named either way."""
        try:
            if path.stat().st_size > _FILE_BYTES_MAX:
                raise OSError(f"larger than {_FILE_BYTES_MAX // 1024**2} MiB")
            read = read_document(path.read_bytes(), prompt=prompt)
        except OSError as error:
            self.stderr.write(f"{place}: cannot be read: {error.strerror or error}")
            return False
        except UnreadableSession as refused:
            self._name_damage(place, refused.damaged)
            self.stderr.write(f"{place}: {refused.code}: {refused.detail}")
            return False
        self._name_damage(place, read.damaged)
        if not all(session.thread_named for session in read.sessions):
            self.stderr.write(f"{place}: the line that names the thread is lost; the content stands for the name")
        try:
            document = import_read(actor=actor, team=team, read=read, agent=agent)
        except TikiTakaError as refused:
            raise CommandError(f"{place}: {refused.detail}") from refused
        for imported in document.imported:
            self.stdout.write(f"{place}: {_said(imported)}")
        return True

    def _name_damage(self, place: str, damaged: tuple[DamagedLine, ...]) -> None:
        for line in damaged:
            self.stderr.write(f"{place}: {line.what} {line.number} is damaged: {line.reason}")

    def _close(self, team: Team, actor: Principal) -> Segment | None:
        if open_segment(team.pk) is None:
            self.stdout.write("The team has no open thread of work to close.")
            return None
        try:
            return close_thread(actor=actor, team=team)
        except TikiTakaError as refused:
            raise CommandError(f"--close: {refused.detail}") from refused


def _said(imported: Imported) -> str:
    if not imported.changed:
        return f"{imported.form}, known already, nothing changed"
    parts = [f"{imported.tasks} tasks", f"{imported.spans} spans", f"{imported.messages} messages"]
    filled = f", {imported.filled} gaps filled" if imported.filled else ""
    return f"{imported.form}, {', '.join(parts)}{filled}"


def _prompt(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        return require("--prompt", given, limit=settings.TIKITAKA_POLICY.prompt_chars)
    except Invalid as error:
        raise CommandError(error.detail) from error


def _resolve(team_name: str, agent_name: str | None, login: str | None) -> tuple[Team, Agent | None, Principal]:
    """Whom the arguments mean. What the person may not see answers like what is not there."""
    team = _team(team_name)
    actor = principal_of(_importer(team, login), {"methods": ["local_command"]})
    try:
        team = access_team(actor, team.pk, Permission.WORK_IMPORT)
    except NotFound as error:
        raise CommandError(f"--team: {team_name!r} is no team into which {actor.name!r} may import") from error
    if agent_name is None:
        return team, None, actor
    meant = Q(pk=_uuid(agent_name)) if _uuid(agent_name) else Q(name_key=name_key(agent_name))
    found = Agent.objects.filter(meant, team=team).first()
    if found is None:
        raise CommandError(f"--agent: the team has no agent {agent_name!r}")
    return team, found, actor


def _team(name: str) -> Team:
    meant = Q(pk=_uuid(name)) if _uuid(name) else Q(name_key=name_key(name), archived_at__isnull=True)
    named = list(Team.objects.filter(meant)[:2])
    if len(named) != 1:
        problem = "several teams have this name, give the id" if named else "no such team"
        raise CommandError(f"--team: {name!r}: {problem}")
    return named[0]


def _importer(team: Team, login: str | None) -> User:
    if login is not None:
        user = User.objects.filter(username=login, is_active=True).first()
        if user is None:
            raise CommandError(f"--user: no active person logs in as {login!r}")
        return user
    roles = [role.value for role, held in ROLE_PERMISSIONS.items() if Permission.WORK_IMPORT in held]
    members = Membership.objects.filter(organization=team.organization_id, role__in=roles, user__is_active=True)
    people = [member.user for member in members.select_related("user")[:2]]
    if len(people) != 1:
        raise CommandError("--user: name the person who imports; " + ("several may" if people else "nobody may"))
    return people[0]


def _uuid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None
