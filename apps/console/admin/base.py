"""What every page of the admin obeys: one's own organizations only, nothing added, changed or deleted by hand."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import site
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from apps.accounts.models import Organization
from apps.accounts.selectors import containers_with
from apps.console.identity import principal
from apps.teams.models import Team
from tikitaka.authz import Permission

site.site_header = "Tiki-Taka"
site.site_title = "Tiki-Taka"
site.index_title = "Agents pass on what they learn. Nothing passes unwatched."


class GovernedAdmin(ModelAdmin):
    """Rows reach a person through the team or organization on which they hold `sees`."""

    sees = Permission.ORGANIZATION_VIEW
    team_path: str | None = "team"
    organization_path = "organization"
    list_per_page = 50
    show_full_result_count = False
    list_fullwidth = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        who = principal(request)
        if self.team_path is not None:
            return rows.filter(**{f"{self.team_path}__in": containers_with(who, self.sees, Team)})
        return rows.filter(**{f"{self.organization_path}__in": containers_with(who, self.sees, Organization)})

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if not (request.user.is_active and request.user.is_staff):
            return False
        model = Team if self.team_path is not None else Organization
        return obj is not None or containers_with(principal(request), self.sees, model).exists()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def holds(self, request: HttpRequest, permission: Permission, object_id: Any) -> bool:
        """True when the person holds `permission` where the object lives; absent and forbidden look alike."""
        row = self.get_queryset(request).filter(pk=object_id).first()
        if row is None:
            return False
        if self.team_path is None:
            return (
                containers_with(principal(request), permission, Organization)
                .filter(pk=getattr(row, f"{self.organization_path}_id"))
                .exists()
            )
        team = row.pk if isinstance(row, Team) else row.team_id
        return containers_with(principal(request), permission, Team).filter(pk=team).exists()
