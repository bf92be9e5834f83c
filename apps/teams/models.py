"""Teams of two to eight agents on one code tree, and one private workspace per agent."""

from __future__ import annotations

from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from apps.accounts.models import OBJECT_PERMISSIONS, Organization
from apps.ledger.ids import new_id
from tikitaka.hosts import HOST_CHARS_MAX

EXTERNAL = "external"  # somebody else's orchestrator leases the nodes of such an agent
RUNTIMES = [("process", "process"), (EXTERNAL, EXTERNAL)]
HERE = "here"
REMOTE = "remote"  # the agent's own machine keeps a copy, and says what it holds
DELIVERIES = [(HERE, HERE), (REMOTE, REMOTE)]


class Team(models.Model):
    """A goal, its agents and their shared code tree. `name_key` is what names are compared by."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="teams")
    name = models.CharField(max_length=80)
    name_key = models.CharField(max_length=160, editable=False)
    description = models.CharField(max_length=500, blank=True)
    work_areas = models.JSONField(default=dict)
    width = models.PositiveSmallIntegerField(default=4)
    host = models.CharField(
        max_length=HOST_CHARS_MAX,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="whose workspace root holds the folders of all its agents; empty where everybody shares one",
    )
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        permissions = OBJECT_PERMISSIONS
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "name_key"],
                condition=models.Q(archived_at__isnull=True),
                name="teams_one_team_per_name",
            ),
            models.CheckConstraint(condition=models.Q(width__gte=1, width__lte=8), name="teams_width_1_to_8"),
        ]

    def __str__(self) -> str:
        return self.name


class Agent(models.Model):
    """A runtime identity that belongs to one team. `command` is the program of the process runtime."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="agents")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=80)
    name_key = models.CharField(max_length=160, editable=False)
    description = models.CharField(max_length=500, blank=True)
    instructions = models.TextField(max_length=10_000, blank=True)
    runtime = models.CharField(max_length=16, choices=RUNTIMES, default="process")
    command = models.JSONField(default=list, blank=True)
    remembers = models.BooleanField(
        default=False, help_text="The program continues a thread when it is given the thread's id."
    )
    profile_digest = models.CharField(max_length=64, editable=False)
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name_key"], name="teams_one_agent_per_name"),
            models.UniqueConstraint(fields=["team", "position"], name="teams_one_agent_per_position"),
        ]
        ordering = ["position"]

    def __str__(self) -> str:
        return self.name


class Workspace(models.Model):
    """The private folder of one agent: a path made of ids only, below the workspace root of the team's host."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    agent = models.OneToOneField(Agent, on_delete=models.PROTECT, related_name="workspace")
    path = models.CharField(max_length=255, unique=True)
    delivery = models.CharField(
        max_length=8,
        choices=DELIVERIES,
        default=HERE,
        db_default=HERE,
        help_text="whether the agent works in this folder, or in a copy of its governed files on another machine",
    )
    rendered_digest = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="the profile from which the instructions file was rendered last",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(delivery__in=[name for name, _ in DELIVERIES]), name="teams_workspace_delivery"
            ),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def is_remote(self) -> bool:
        """True where the agent works on another machine, and this folder is only the source of what lies there."""
        return self.delivery == REMOTE


class TeamUserObjectPermission(UserObjectPermissionBase):
    """guardian's rows for single users; the product writes none, grants go through role groups."""

    content_object = models.ForeignKey(Team, on_delete=models.CASCADE)


class TeamGroupObjectPermission(GroupObjectPermissionBase):
    """guardian's rows: what the role group of an organization holds on its team."""

    content_object = models.ForeignKey(Team, on_delete=models.CASCADE)
