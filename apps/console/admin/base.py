"""What every page of the admin obeys: one's own organizations only, nothing added, changed or deleted by hand."""

from __future__ import annotations

from functools import reduce
from typing import Any

from django.contrib.admin import site
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import ForeignKey, Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from unfold.admin import ModelAdmin

from apps.accounts.models import Organization
from apps.accounts.selectors import containers_with
from apps.accounts.sessions import principal
from apps.console.admin.shown import Shown, Titled, VisibleRowsFilter, is_text
from apps.console.identity import holds_anywhere
from apps.ledger.services import deny
from apps.teams.models import Team
from tikitaka.authz import Permission
from tikitaka.authz.decide import DenyReason

site.site_header = "Tiki-Taka"
site.site_title = "Tiki-Taka"
site.index_title = "Agents pass on what they learn. Nothing passes unwatched."
site.disable_action("delete_selected")


class GovernedAdmin(ModelAdmin):
    """Rows reach a person through the team or organization on which they hold `sees`."""

    sees = Permission.ORGANIZATION_VIEW
    team_path: str | None = "team"
    organization_path = "organization"
    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False
    list_fullwidth = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        who = principal(request)
        if self.team_path is not None:
            return rows.filter(**{f"{self.team_path}__in": containers_with(who, self.sees, Team)})
        return rows.filter(**{f"{self.organization_path}__in": containers_with(who, self.sees, Organization)})

    # --- nothing is done by hand

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if not (request.user.is_active and request.user.is_staff):
            return False
        model = Team if self.team_path is not None else Organization
        return obj is not None or holds_anywhere(request, self.sees, model)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The ledger is the history; Django's own log of the admin has nothing to tell."""
        raise Http404

    def holds(self, request: HttpRequest, permission: Permission, object_id: Any) -> bool:
        """True when the person holds `permission` where the object lives; absent and forbidden look alike.

        An attempt (not a look) on something that the person may see is a refusal of the ledger.
        """
        row = self._row(request, object_id)
        if row is None:
            return False
        model, container, organization = self._container(row)
        held = containers_with(principal(request), permission, model).filter(pk=container).exists()
        if not held and self._is_attempt(request):
            actor = principal(request).actor
            reasons = (DenyReason.NO_GRANT.value,)
            deny(organization, actor=actor, permission=permission.value, object_id=row.pk, reasons=reasons)
        return held

    def _is_attempt(self, request: HttpRequest) -> bool:
        """A POST to one of our dialogs; the page itself asks too, to know which buttons to draw."""
        address = request.resolver_match.url_name if request.resolver_match else None
        own = {f"{self.opts.app_label}_{self.opts.model_name}_{name}" for name in self.actions_detail}
        return request.method == "POST" and address in own

    def _row(self, request: HttpRequest, object_id: Any) -> Any:
        try:
            return self.get_queryset(request).filter(pk=object_id).first()
        except (ValidationError, ValueError):
            return None

    def _container(self, row: Any) -> tuple[type[Model], Any, Any]:
        if isinstance(row, Organization):
            return Organization, row.pk, row.pk
        if self.team_path is None:
            return Organization, row.organization_id, row.organization_id
        team = row if isinstance(row, Team) else reduce(getattr, self.team_path.split("__"), row)
        return Team, team.pk, team.organization_id

    # --- everything is shown as it is

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return [self._column(name) for name in super().get_list_display(request)]

    def get_list_select_related(self, request: HttpRequest) -> tuple[str, ...]:
        chosen = super().get_list_select_related(request) or ()
        columns = [name for name in self.list_display if isinstance(self._field(name), ForeignKey)]
        return tuple({*chosen, *columns}) if chosen is not True else tuple(columns)

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [
            (name, VisibleRowsFilter) if isinstance(self._field(name), ForeignKey) else name
            for name in super().get_list_filter(request)
        ]

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return [self._column(name, whole=True) for name in super().get_fields(request, obj)]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return [self._column(name, whole=True) for name in super().get_readonly_fields(request, obj)]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        obj = options.get("obj")
        if obj is not None:
            context.update(original=Titled(obj), subtitle=str(Titled(obj)))
        return super().render_change_form(request, context, *args, **options)

    def instead_of(self, name: str, row: Any) -> str:
        """What stands where a field of text is empty."""
        return ""

    def _field(self, name: Any) -> Any:
        if not isinstance(name, str):
            return None
        try:
            return self.opts.get_field(name)
        except FieldDoesNotExist:
            return None

    def _column(self, name: Any, *, whole: bool = False) -> Any:
        field = self._field(name)
        if field is None or hasattr(self, name) or not is_text(field):
            return name
        columns: dict[Any, Shown] = self.__dict__.setdefault("_columns", {})
        return columns.setdefault((name, whole), Shown(field, whole=whole, instead_of=self.instead_of))
