"""Whether the folders of a team lie in the workspace root that this process sees.

Claims and leases never go by a host's name: it only says which folder is meant.
"""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db.models import Count, QuerySet

from apps.teams.models import Team
from tikitaka.hosts import WorkspaceElsewhere, freest


def is_here(host: str) -> bool:
    """True for the one root that this process sees."""
    return bool(host == settings.TIKITAKA_HOST)


def require_here(host: str) -> None:
    """Refuses to touch files that lie elsewhere: a folder of the same path here would be another one."""
    if not is_here(host):
        raise WorkspaceElsewhere(host)


def are_named() -> bool:
    """True where the installation has more than the one root that everybody shares."""
    return bool(settings.TIKITAKA_HOSTS)


def teams_here() -> QuerySet[Team]:
    """The teams whose folders this process sees."""
    return Team.objects.filter(host=settings.TIKITAKA_HOST)


def require_still_here(team: UUID, host: str) -> None:
    """The same under a lock that moving the team takes too; `host` is what was read before it."""
    require_here(host)
    if are_named():  # nothing moves where there is one root
        require_here(Team.objects.values_list("host", flat=True).get(pk=team))


def hosts_with_teams() -> dict[str, int]:
    """How many teams that are not archived lie on each host."""
    return dict(Team.objects.filter(archived_at__isnull=True).values_list("host").annotate(n=Count("pk")))


def for_new_team() -> str:
    """The host with the fewest teams that are not archived; no name where there is one shared root."""
    return freest(settings.TIKITAKA_HOSTS, hosts_with_teams()) if are_named() else ""
