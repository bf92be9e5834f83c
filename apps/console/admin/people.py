"""People and organizations. Maintenance of accounts is for superusers; what happens in an organization is not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from apps.accounts.models import Membership, Organization, User
from apps.accounts.sessions import principal
from apps.conductor import teams
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.budgets import BudgetedAdmin
from apps.console.admin.dialogs import ReasonDialog, done, refused
from apps.console.admin.webhooks import WebhooksAdmin
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError

admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[type-arg]
    """Accounts. Roles come from memberships alone, therefore groups and permissions are not shown."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Access", {"fields": ("is_active", "is_staff", "is_superuser", "last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")
    list_filter = ("is_active", "is_staff")
    filter_horizontal = ()

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """An account is deactivated. Deleting it would end memberships without an entry in any ledger."""
        return False


@admin.register(Organization)
class OrganizationAdmin(WebhooksAdmin, BudgetedAdmin):
    team_path = None
    organization_path = "pk"
    list_display = ("name", "paused_at", "created_at")
    readonly_fields = ("paused_at", "created_at")
    actions_detail = ["pause", "go_on", "budget", "webhook"]

    def has_pause_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.WORK_PAUSE, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Only the switch that the state allows."""
        row = self._row(request, object_id)
        unfit = "Pause" if row is not None and row.paused_at else "Go on"
        return [item for item in super().get_actions_detail(request, object_id) if item.description != unfit]

    @action(
        description="Pause",
        permissions=["pause"],
        dialog={
            "title": "Pause this organization",
            "description": "Nothing of any of its teams is dispatched, lands or is granted until it goes on.",
            "form_class": ReasonDialog,
            "form_submit_text": "Pause",
        },
    )
    def pause(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        return self._switch(request, object_id, paused=True)

    @action(
        description="Go on",
        permissions=["pause"],
        dialog={
            "title": "Let this organization go on",
            "description": "What waited is dispatched and landed.",
            "form_class": ReasonDialog,
            "form_submit_text": "Go on",
        },
    )
    def go_on(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        return self._switch(request, object_id, paused=False)

    def _switch(self, request: HttpRequest, object_id: str, *, paused: bool) -> HttpResponse:
        try:
            teams.pause(actor=principal(request), organization=UUID(object_id), paused=paused)
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "Paused." if paused else "Goes on.")


@admin.register(Membership)
class MembershipAdmin(GovernedAdmin):
    team_path = None
    list_display = ("user", "role", "organization", "created_at")
    list_filter = ("role",)
    list_select_related = ("user", "organization")
