"""Who takes part: an organization with four people, and a team of four agents with a small code tree."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from apps.accounts.models import Organization, User
from apps.accounts.selectors import principal_of
from apps.accounts.services.members import set_role
from apps.accounts.services.organizations import found_organization
from apps.conductor.teams import register_agent
from apps.teams.models import Agent, Team
from apps.teams.selectors import code_folder
from apps.teams.services.teams import create_team
from tikitaka.authz import Principal, Role

# Lies in a data folder that the demonstration made, and that it may therefore remove.
MARK = ".tikitaka-demo"
PASSWORD = "pass-it-on-41"  # noqa: S105 the demonstration's logins are printed and work on loopback only
_AGENTS = (
    (
        "security",
        "Security Agent",
        "Reviews secrets, permissions and what the system exposes.",
        "Check settings, tokens and environment values. State rules for the team in one sentence.",
    ),
    (
        "backend",
        "Backend Agent",
        "Builds the server API and answers integration questions about it.",
        "Endpoints, settings, environment, validation. Helps the frontend integrate with the API contract.",
    ),
    (
        "frontend",
        "Frontend Agent",
        "Builds the web interface.",
        "Forms, components, styling, browser behavior.",
    ),
    (
        "docs",
        "Docs Agent",
        "Writes the API reference and guides.",
        "Reference pages, changelogs, examples for readers.",
    ),
)
_SETTINGS = '''"""Settings of the upload service."""

ENVIRONMENT = {{"UPLOAD_BUCKET": "uploads-staging", "UPLOAD_SIGNING_KEY": "{secret}"}}
PUBLIC_API = {{"upload": {{"method": "POST", "path": "/api/v1/uploads", "fields": ["file", "folder"], "max_mb": 25}}}}
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Everybody, by their short names."""

    organization: Organization
    team: Team
    agents: dict[str, Agent]
    operator: Principal
    reviewer: Principal
    owner: Principal
    secret: str


def assemble() -> Cast:
    """Founds the organization, hires the people, registers the agents, all through the services of the product."""
    people = {role: _person(role) for role in ("owner", "operator", "reviewer", "auditor")}
    owner = principal_of(people["owner"], {"methods": ["password"]})
    organization = found_organization(actor=owner, name="Upload works", owner=people["owner"])
    for name, role in (("operator", Role.OPERATOR), ("reviewer", Role.REVIEWER), ("auditor", Role.AUDITOR)):
        set_role(actor=owner, organization=organization, user=people[name], role=role)
    operator = principal_of(people["operator"], {"methods": ["password"]})
    team = create_team(
        actor=operator,
        organization=organization,
        name="Uploads",
        description="A small web product that lets users upload files.",
    )
    secret = secrets.token_urlsafe(24)
    agents = {}
    for short, name, description, instructions in _AGENTS:
        agents[short] = register_agent(
            actor=operator,
            team=team,
            name=name,
            description=description,
            instructions=instructions,
            command=[sys.executable, str(settings.BASE_DIR / "examples" / "agents" / f"{short}.py")],
        )
    source = code_folder(team) / "apps" / "server" / "settings.py"
    source.parent.mkdir(parents=True)
    source.write_text(_SETTINGS.format(secret=secret), encoding="utf-8")
    return Cast(
        organization=organization,
        team=team,
        agents=agents,
        operator=operator,
        reviewer=principal_of(people["reviewer"], {"methods": ["password"]}),
        owner=owner,
        secret=secret,
    )


def record_answers(secret: str) -> None:
    """Puts the recorded model answers where the replay provider reads them; one of them carries the secret."""
    folder = Path(settings.TIKITAKA_REPLAY)
    folder.mkdir(parents=True, exist_ok=True)
    for template in sorted((settings.BASE_DIR / "examples" / "demo").glob("*.json")):
        text = template.read_text(encoding="utf-8").replace("@SECRET@", secret)
        (folder / template.name).write_text(text, encoding="utf-8")


def _person(name: str) -> User:
    user = User.objects.create_user(username=name, password=PASSWORD, first_name=f"Demo {name}")
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    return user
