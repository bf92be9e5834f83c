"""manage.py run_task"""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.selectors import principal_of
from apps.conductor.pool import embedded_pool
from apps.conductor.story import submit
from apps.console.budgets import limits_of
from apps.console.naming import find_team, find_user
from apps.tasks.budgets import spent_budget_of
from apps.tasks.models import AgentLease, PlanNode, Task, TaskStatus
from apps.tasks.selectors import TERMINAL
from apps.teams.hosts import is_here
from tikitaka.errors import TikiTakaError
from tikitaka.hosts import WorkspaceElsewhere, root

_HELD = (TaskStatus.QUEUED, TaskStatus.RUNNING)


class Command(BaseCommand):
    help = "Submit a prompt to a team, run it here with progress, and finish what it started."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("prompt")
        parser.add_argument("--team", required=True, help="id of the team, or its name where that is unique")
        parser.add_argument("--user", required=True, help="login of the person who submits")
        parser.add_argument("--attempts-max", type=int, help="attempts of all nodes together, at most")
        parser.add_argument("--tokens-max", type=int, help="no attempt begins once so many are spent")
        parser.add_argument("--cost-max", type=Decimal, help="the same in the currency of TIKITAKA_PRICES")
        parser.add_argument("--json", action="store_true", help="print the settled task as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        user = find_user(options["user"])
        team = find_team(options["team"])
        if not is_here(team.host):
            raise CommandError(f"{WorkspaceElsewhere.code}: run it {root(team.host)}")
        with embedded_pool() as pool:
            try:
                submitted = submit(
                    actor=principal_of(user), team=team, prompt=options["prompt"], limits=limits_of(options)
                )
            except TikiTakaError as refused:
                raise CommandError(f"{refused.code}: {refused.detail}") from refused
            if submitted.looks_secret:
                self.stderr.write("The prompt holds something that looks like a secret; agents will see it as typed.")
            self._follow(submitted.task.pk)
            pool.drain()
        task = Task.objects.get(pk=submitted.task.pk)
        if options["json"]:
            self.stdout.write(json.dumps(_summary(task)))
        if task.status != "completed":
            raise CommandError(f"The task ended as {task.status}.", returncode=1)

    def _follow(self, task: UUID) -> None:
        """Prints every change of a node until the task has ended."""
        shown: dict[UUID, str] = {}
        while True:
            row = Task.objects.get(pk=task)
            for node in PlanNode.objects.filter(task_id=task).select_related("agent"):
                if shown.get(node.pk) != node.status:
                    shown[node.pk] = node.status
                    self.stderr.write(f"{node.index}. {node.agent.name} ({node.role or 'agent'}): {node.status}")
            if row.status in TERMINAL:
                self.stderr.write(f"task {row.pk}: {row.status}")
                return
            if row.status not in _HELD or AgentLease.objects.filter(attempt__task=task).exists():
                spent = None
            else:
                spent = spent_budget_of(row)
            if spent is not None:
                raise CommandError(
                    f"task {row.pk}: nothing more begins, the budget of the {spent.scope} is spent ({spent.exhausted})",
                    returncode=1,
                )
            time.sleep(0.2)


def _summary(task: Task) -> dict[str, Any]:
    nodes = PlanNode.objects.filter(task=task).select_related("agent").order_by("index")
    return {
        "task": str(task.pk),
        "status": task.status,
        "nodes": [{"index": node.index, "agent": node.agent.name, "status": node.status} for node in nodes],
    }
