"""A team lies on one host. Until now each workspace carried the name of a machine that nothing went by."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db import migrations, models
from django.db.models import OuterRef, Subquery

from tikitaka.hosts import is_host_name

_NO_NAME = "localhost"  # the default of before: one root that everybody shared


def name_hosts(apps: Any, editor: Any) -> None:
    """The name that all workspaces of a team agree on; any other team lies in the root without a name."""
    names: dict[Any, set[str]] = defaultdict(set)
    database = editor.connection.alias
    workspaces = apps.get_model("teams", "Workspace").objects.using(database)
    for team, host in workspaces.values_list("agent__team", "host").distinct():
        names[team].add(host)
    for team, (host, *others) in names.items():
        if not others and host != _NO_NAME and is_host_name(host):
            apps.get_model("teams", "Team").objects.using(database).filter(pk=team).update(host=host)


def call_rendered(apps: Any, editor: Any) -> None:
    """Every instructions file was rendered when its agent was registered or changed."""
    database = editor.connection.alias
    agents = apps.get_model("teams", "Agent").objects.using(database).filter(pk=OuterRef("agent"))
    workspaces = apps.get_model("teams", "Workspace").objects.using(database).filter(rendered_digest="")
    workspaces.update(rendered_digest=Subquery(agents.values("profile_digest")[:1]))


class Migration(migrations.Migration):
    dependencies = [("teams", "0002_pre_budgets")]

    operations = [
        migrations.AddField(
            model_name="team",
            name="host",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="whose workspace root holds the folders of all its agents; empty where everybody shares one",
                max_length=63,
            ),
        ),
        migrations.AddField(
            model_name="workspace",
            name="rendered_digest",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="the profile from which the instructions file was rendered last",
                max_length=64,
            ),
        ),
        migrations.AlterField(
            model_name="workspace",
            name="host",
            field=models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.RunPython(name_hosts, migrations.RunPython.noop),
        migrations.RunPython(call_rendered, migrations.RunPython.noop),
        # The column stays while pages of the version before may still ask for it.
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("workspace", "host")]),
    ]
