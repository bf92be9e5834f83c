"""People and organizations. Maintenance of accounts is for superusers; what happens in an organization is not."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from apps.accounts.models import Membership, Organization, User
from apps.console.admin.base import GovernedAdmin

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


@admin.register(Organization)
class OrganizationAdmin(GovernedAdmin):
    team_path = None
    organization_path = "pk"
    list_display = ("name", "paused_at", "created_at")


@admin.register(Membership)
class MembershipAdmin(GovernedAdmin):
    team_path = None
    list_display = ("user", "role", "organization", "created_at")
    list_filter = ("role",)
    list_select_related = ("user", "organization")
