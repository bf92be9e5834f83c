"""Budgets: what is spent of each, and the dialog in which an owner sets one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from apps.accounts.models import Organization
from apps.accounts.sessions import principal
from apps.conductor.budgets import set_budget
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.dialogs import as_uuid, done, refused
from apps.console.budgets import in_words, limit_fields, limits_of, typed
from apps.tasks.models import Budget, Task
from apps.tasks.services.budgets import budget_of
from apps.teams.models import Team
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError


class BudgetDialog(BaseDialogForm):
    """The limits of an organization, a team or a task, as they are."""

    def __init__(self, request: HttpRequest, object_id: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, object_id, *args, **kwargs)
        self.fields |= limit_fields(widget=UnfoldAdminTextInputWidget)
        self.scope = _scope(object_id)
        if not isinstance(self.scope, Task):
            self.fields["monthly"] = forms.BooleanField(
                required=False, label="Begins anew with every month (UTC)", widget=UnfoldBooleanWidget
            )
        budget = budget_of(self.scope) if self.scope is not None else None
        for name, value in (typed(budget) if budget is not None else {}).items():
            if name in self.fields:
                self.fields[name].initial = value


def _scope(object_id: Any) -> Organization | Team | Task | None:
    identity = as_uuid(object_id)
    if identity is None:
        return None
    rows = (model.objects.filter(pk=identity).first() for model in (Organization, Team, Task))
    return next((row for row in rows if row is not None), None)


class BudgetedAdmin(GovernedAdmin):
    """The page of something that may have a budget."""

    def has_budget_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.BUDGET_SET, object_id)

    @action(
        description="Budget",
        permissions=["budget"],
        dialog={
            "title": "Limit what may be spent",
            "description": "What was spent so far stays spent. Without any limit the budget is taken away.",
            "form_class": BudgetDialog,
            "form_submit_text": "Set",
        },
    )
    def budget(self, request: HttpRequest, form: BudgetDialog, object_id: str) -> HttpResponse:
        row = self.get_queryset(request).get(pk=object_id)
        limits, monthly = limits_of(form.cleaned_data), bool(form.cleaned_data.get("monthly"))
        try:
            set_budget(actor=principal(request), scope=row, limits=limits, monthly=monthly)
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "The budget is set.")


@admin.register(Budget)
class BudgetAdmin(GovernedAdmin):
    team_path = None
    list_display = ("scope", "organization", "team", "task", "state", "spent", "since")
    list_filter = ("team", "exhausted")
    list_select_related = ("organization", "team", "task")
    ordering = ("organization", "team", "task")

    @display(description="state", label={"open": "success", "spent": "danger"})
    def state(self, budget: Budget) -> tuple[str, str]:
        return ("spent", budget.exhausted) if budget.exhausted else ("open", "open")

    @display(description="spent")
    def spent(self, budget: Budget) -> str:
        return in_words(budget)
