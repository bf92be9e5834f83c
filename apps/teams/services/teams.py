"""Founding, pausing and archiving teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import IntegrityError
from django.utils import timezone

from apps.accounts.models import Organization
from apps.accounts.services.authorize import authorize
from apps.accounts.services.grants import derive_grants
from apps.ledger.services import Recorder, recording
from apps.teams.hosts import for_new_team
from apps.teams.models import Agent, Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import Invalid, WrongState
from tikitaka.ledger.events import TeamArchived, TeamCreated, TeamPaused, TeamUnpaused, WorkspaceBound
from tikitaka.planning.areas import DEFAULT_AREAS, validate_areas
from tikitaka.text import name_key, require


def create_team(
    *,
    actor: Principal,
    organization: Organization,
    name: str,
    description: str = "",
    work_areas: Mapping[str, Sequence[str]] | None = None,
    width: int | None = None,
    host: str | None = None,
) -> Team:
    """A team without agents yet; names that differ only by case, blanks or dots collide.

    All its folders will lie on one host: the one that is named, or else the one with the fewest teams.
    """
    authorize(actor, Permission.TEAMS_MANAGE, organization, organization=organization.pk, object_id=organization.pk)

    policy = settings.TIKITAKA_POLICY
    name = require("name", name.strip(), limit=policy.name_chars, multiline=False)
    description = require("description", description, limit=policy.description_chars, blank=True)
    width = policy.width if width is None else width
    if not 1 <= width <= 8:
        raise Invalid(width="must be from 1 to 8")
    key = name_key(name)
    if not key:
        raise Invalid(name="needs a letter or a digit")
    areas = validate_areas(work_areas or DEFAULT_AREAS)
    if host is not None and host not in (*settings.TIKITAKA_HOSTS, settings.TIKITAKA_HOST):
        raise Invalid(host="is not one of TIKITAKA_HOSTS")

    try:
        with recording(organization.pk, actor=actor.actor) as ledger:
            team = Team.objects.create(
                organization=organization,
                name=name,
                name_key=key,
                description=description,
                work_areas=areas,
                width=width,
                host=for_new_team() if host is None else host,
            )
            derive_grants(team, organization.pk)
            ledger.record(TeamCreated(team=team.pk))
    except IntegrityError as error:
        raise Invalid(name="a team with such a name exists") from error
    return team


def pause_team(*, actor: Principal, team: Team, paused: bool) -> Team:
    """The team's stop switch. Setting it twice changes nothing."""
    authorize(actor, Permission.WORK_PAUSE, team, organization=team.organization_id, object_id=team.pk)

    with recording(team.organization_id, actor=actor.actor) as ledger:
        changed = Team.objects.filter(pk=team.pk, paused_at__isnull=paused).update(
            paused_at=timezone.now() if paused else None
        )
        if changed:
            ledger.record(TeamPaused(team=team.pk) if paused else TeamUnpaused(team=team.pk))
    team.refresh_from_db()
    return team


def archive_team(*, actor: Principal, team: Team) -> Team:
    """The end of a team; conductor.archive_team revokes what its agents hold."""
    authorize(actor, Permission.TEAMS_MANAGE, team, organization=team.organization_id, object_id=team.pk)

    with recording(team.organization_id, actor=actor.actor) as ledger:
        if not Team.objects.filter(pk=team.pk, archived_at__isnull=True).update(archived_at=timezone.now()):
            raise WrongState("the team is archived already")
        ledger.record(TeamArchived(team=team.pk))
    team.refresh_from_db()
    return team


def derive_all_grants() -> None:
    """Gives every role what the table says, on every organization and team.

    Columns that a migration may just have taken away or not brought yet are not read.
    """
    for organization in Organization.objects.only("pk").order_by("pk").iterator():
        derive_grants(organization, organization.pk)
    for team in Team.objects.only("organization_id").order_by("pk").iterator():
        derive_grants(team, team.organization_id)


def bind_team(*, team: Team, host: str, ledger: Recorder) -> None:
    """All workspaces of a team lie on another host from now on; conductor.move_team sees to it that they do."""
    Team.objects.filter(pk=team.pk).update(host=host)
    agents = Agent.objects.filter(team=team).order_by("position").values_list("pk", flat=True)
    ledger.record(*(WorkspaceBound(agent=agent, team=team.pk, host=host) for agent in agents))
