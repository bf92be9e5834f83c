"""Tasks with their attempts; the live page shows them better."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.audit.progress import removed
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.budgets import BudgetedAdmin
from apps.context.models import ContextSnapshot
from apps.tasks.models import Attempt, Task
from tikitaka.safety import show_hidden
from tikitaka.text import cut


@admin.register(Task)
class TaskAdmin(BudgetedAdmin):
    list_display = ("prompt_start", "team", "state", "plan_source", "submitted_by", "submitted_at", "live")
    list_filter = ("status", "plan_source", "team")
    ordering = ("-submitted_at",)
    list_select_related = ("team", "submitted_by")
    actions_detail = ["budget"]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """What has ended spends nothing more."""
        task = self._row(request, object_id)
        return super().get_actions_detail(request, object_id) if task and not task.settled_at else []

    @display(description="prompt")
    def prompt_start(self, task: Task) -> str:
        return show_hidden(cut(task.prompt, 100))

    @display(
        description="state", label={"completed": "success", "partial": "warning", "failed": "danger", "running": "info"}
    )
    def state(self, task: Task) -> str:
        return task.status

    @display(description="live")
    def live(self, task: Task) -> SafeString:
        return format_html('<a href="{}">open</a>', reverse("console:task", args=[task.pk]))


@admin.register(Attempt)
class AttemptAdmin(GovernedAdmin):
    team_path = "task__team"
    list_display = ("agent", "task", "number", "status", "error", "started_at", "finished_at")
    list_filter = ("status", "error")
    ordering = ("-started_at",)
    list_select_related = ("agent", "task")

    def instead_of(self, name: str, row: Attempt) -> str:
        return removed(row.task) if name == "output" else ""


@admin.register(ContextSnapshot)
class ContextSnapshotAdmin(GovernedAdmin):
    team_path = "attempt__task__team"
    list_display = ("attempt", "from_seq_exclusive", "to_seq_inclusive", "rendered_digest", "created_at")
    ordering = ("-created_at",)

    def instead_of(self, name: str, row: ContextSnapshot) -> str:
        return removed(row.attempt.task) if name == "rendered" else ""
