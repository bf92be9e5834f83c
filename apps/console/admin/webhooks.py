"""Webhooks: where events are sent, the log of what was sent, and the dialogs for it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from apps.accounts.sessions import principal
from apps.conductor.models import WebhookDelivery, WebhookEndpoint
from apps.conductor.webhooks import endpoints
from apps.conductor.webhooks.endpoints import NewSecret
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.dialogs import AgentsField, ReasonDialog, as_uuid, done, refused
from apps.teams.models import Team
from tikitaka.authz import Permission
from tikitaka.errors import Invalid, TikiTakaError
from tikitaka.safety import show_hidden
from tikitaka.webhooks.addresses import URL_CHARS_MAX
from tikitaka.webhooks.events import WebhookEvent


class EndpointDialog(BaseDialogForm):
    """What an endpoint is; on the page of an organization a new one, on its own page as it is."""

    url = forms.CharField(
        max_length=URL_CHARS_MAX,
        label="Address",
        help_text="https://, and reachable from the internet.",
        widget=UnfoldAdminTextInputWidget,
    )
    events = forms.MultipleChoiceField(
        choices=[(event.value, event.value) for event in WebhookEvent],
        initial=[event.value for event in WebhookEvent],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )
    all_teams = forms.BooleanField(
        required=False, initial=True, label="All teams, also those that are made later", widget=UnfoldBooleanWidget
    )
    teams = AgentsField(required=False, label="Otherwise these")

    def __init__(self, request: HttpRequest, object_id: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, object_id, *args, **kwargs)
        identity = as_uuid(object_id)
        endpoint = WebhookEndpoint.objects.filter(pk=identity).first() if identity else None
        organization = identity if endpoint is None else endpoint.organization_id
        field: Any = self.fields["teams"]
        rows = Team.objects.filter(organization=organization, archived_at=None).order_by("name")
        if endpoint is not None:
            rows = (rows | Team.objects.filter(pk__in=endpoint.teams.values("pk"))).distinct()
            self.prepare(endpoint)
        field.choices = [(str(team.pk), show_hidden(team.name)) for team in rows]

    def prepare(self, endpoint: WebhookEndpoint) -> None:
        """Fills in what is there."""

    def clean(self) -> dict[str, Any] | None:
        """No team chosen is never taken for all of them."""
        cleaned = super().clean()
        if cleaned and not cleaned.get("all_teams") and not cleaned.get("teams"):
            self.add_error("teams", ValidationError("Choose at least one, or all."))
        return cleaned


class ChangeDialog(EndpointDialog):
    active = forms.BooleanField(required=False, label="Send to it", widget=UnfoldBooleanWidget)

    def prepare(self, endpoint: WebhookEndpoint) -> None:
        self.fields["url"].initial = endpoint.url
        self.fields["events"].initial = list(endpoint.events)
        self.fields["active"].initial = endpoint.active
        self.fields["all_teams"].initial = endpoint.all_teams
        self.fields["teams"].initial = [str(pk) for pk in endpoint.teams.values_list("pk", flat=True)]


class RotateDialog(BaseDialogForm):
    at_once = forms.BooleanField(
        required=False, label="End the old secret at once: somebody else has it", widget=UnfoldBooleanWidget
    )


class WebhooksAdmin(GovernedAdmin):
    """The page of an organization, on which an endpoint is added."""

    def has_webhook_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.TEAMS_MANAGE, object_id)

    @action(
        description="Add webhook",
        permissions=["webhook"],
        dialog={
            "title": "Tell another system",
            "description": "Signed messages about what happens from now on. They hold ids and states, no text.",
            "form_class": EndpointDialog,
            "form_submit_text": "Add",
        },
    )
    def webhook(self, request: HttpRequest, form: EndpointDialog, object_id: str) -> HttpResponse:
        try:
            made = endpoints.create_endpoint(
                actor=principal(request),
                organization=self.get_queryset(request).get(pk=object_id),
                **_chosen(form),
            )
        except TikiTakaError as error:
            return _refused(request, error)
        return _show_once(request, made)


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(GovernedAdmin):
    """Of an address the host; whoever may change it sees all of it in the dialog."""

    team_path = None
    list_display = ("where", "organization", "state", "events", "waiting", "failures", "created_at")
    list_filter = ("active", ("removed_at", admin.EmptyFieldListFilter))
    list_select_related = ("organization",)
    ordering = ("removed_at", "created_at")
    fields = (
        "organization", "where", "state", "events", "all_teams", "teams", "waiting", "failures", "created_by",
        "created_at", "old_secret_until", "removed_at",
    )  # fmt: skip
    readonly_fields = ("where", "state", "waiting")
    actions_detail = ["test", "edit", "rotate", "remove"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        still = Q(deliveries__delivered_at=None, deliveries__gave_up_at=None)
        return super().get_queryset(request).annotate(to_send=Count("deliveries", filter=still))

    @display(description="host")
    def where(self, endpoint: WebhookEndpoint) -> str:
        return show_hidden(endpoint.host)

    @display(description="state", label={"on": "success", "failing": "danger", "off": "warning", "removed": ""})
    def state(self, endpoint: WebhookEndpoint) -> tuple[str, str]:
        if endpoint.removed_at:
            return "removed", "removed"
        if not endpoint.active:
            return "off", f"off {endpoint.disabled_reason}".strip()
        return ("failing", "failing") if endpoint.failures else ("on", "on")

    @display(description="waiting")
    def waiting(self, endpoint: Any) -> int:
        return int(endpoint.to_send)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """What is removed stays removed; what is switched off is sent nothing."""
        row = self._row(request, object_id)
        if row is None or row.removed_at:
            return []
        offered = super().get_actions_detail(request, object_id)
        return offered if row.active else [item for item in offered if item.description != "Send a test"]

    def has_manage_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.TEAMS_MANAGE, object_id)

    @action(
        description="Send a test",
        permissions=["manage"],
        dialog={
            "title": "Send a test",
            "description": "A message `webhook.test` is sent once. The log of deliveries says what came of it.",
            "form_class": ReasonDialog,
            "form_submit_text": "Send",
        },
    )
    def test(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        return self._act(request, object_id, endpoints.send_test, "It is sent within seconds.")

    @action(
        description="Change",
        permissions=["manage"],
        dialog={
            "title": "Change this webhook",
            "description": "Switched off, nothing is lost: switched on again it goes on where it stood.",
            "form_class": ChangeDialog,
            "form_submit_text": "Change",
        },
    )
    def edit(self, request: HttpRequest, form: ChangeDialog, object_id: str) -> HttpResponse:
        try:
            endpoints.change_endpoint(
                actor=principal(request),
                endpoint=self._endpoint(request, object_id),
                active=bool(form.cleaned_data["active"]),
                **_chosen(form),
            )
        except TikiTakaError as error:
            return _refused(request, error)
        return done(request, "Changed.")

    @action(
        description="New secret",
        permissions=["manage"],
        dialog={
            "title": "Make a new secret",
            "description": "Messages carry signatures of both for a day, so that the receiver can change in peace.",
            "form_class": RotateDialog,
            "form_submit_text": "Make",
        },
    )
    def rotate(self, request: HttpRequest, form: RotateDialog, object_id: str) -> HttpResponse:
        try:
            made = endpoints.rotate_secret(
                actor=principal(request),
                endpoint=self._endpoint(request, object_id),
                at_once=bool(form.cleaned_data["at_once"]),
            )
        except TikiTakaError as error:
            return refused(request, error)
        return _show_once(request, made)

    @action(
        description="Remove",
        permissions=["manage"],
        dialog={
            "title": "Remove this webhook",
            "description": "Nothing more is sent, and what waits is given up. This cannot be undone.",
            "form_class": ReasonDialog,
            "form_submit_text": "Remove",
        },
    )
    def remove(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        return self._act(request, object_id, endpoints.remove_endpoint, "Removed.")

    def _endpoint(self, request: HttpRequest, object_id: str) -> WebhookEndpoint:
        row: WebhookEndpoint = self.get_queryset(request).select_related("organization").get(pk=object_id)
        return row

    def _act(self, request: HttpRequest, object_id: str, do: Any, text: str) -> HttpResponse:
        try:
            do(actor=principal(request), endpoint=self._endpoint(request, object_id))
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, text)


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(GovernedAdmin):
    team_path = None
    list_display = ("event", "where", "state", "attempts", "last_status", "error", "seq", "created_at", "next_attempt")
    list_filter = ("event", "error", "endpoint")
    list_select_related = ("endpoint",)
    ordering = ("-created_at",)
    fields = (
        "id", "endpoint", "event", "seq", "entry", "body", "state", "attempts", "last_status", "error", "created_at",
        "next_attempt", "delivered_at", "gave_up_at",
    )  # fmt: skip
    readonly_fields = ("id", "state", "next_attempt")
    actions_detail = ["again"]

    @display(description="host")
    def where(self, delivery: WebhookDelivery) -> str:
        return show_hidden(delivery.endpoint.host)

    @display(description="state", label={"delivered": "success", "given up": "danger", "waiting": "info"})
    def state(self, delivery: WebhookDelivery) -> str:
        if delivery.delivered_at:
            return "delivered"
        return "given up" if delivery.gave_up_at else "waiting"

    @display(description="next attempt", empty_value="-")
    def next_attempt(self, delivery: WebhookDelivery) -> Any:
        return None if delivery.delivered_at or delivery.gave_up_at else delivery.next_at

    def has_manage_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.TEAMS_MANAGE, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Only while its endpoint is on."""
        row = self._row(request, object_id)
        return super().get_actions_detail(request, object_id) if row and row.endpoint.active else []

    @action(
        description="Send again",
        permissions=["manage"],
        dialog={
            "title": "Send this once more",
            "description": "Under the same id, so that a receiver who has it can tell.",
            "form_class": ReasonDialog,
            "form_submit_text": "Send",
        },
    )
    def again(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        rows: QuerySet[WebhookDelivery] = self.get_queryset(request)
        try:
            delivery = rows.select_related("endpoint__organization").get(pk=object_id)
            endpoints.redeliver(actor=principal(request), delivery=delivery)
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "It is sent within seconds.")


def _chosen(form: EndpointDialog) -> dict[str, Any]:
    data = form.cleaned_data
    return {"url": data["url"], "events": data["events"], "teams": None if data["all_teams"] else data["teams"]}


def _refused(request: HttpRequest, error: TikiTakaError) -> HttpResponse:
    """With the words of the rule for a person who typed an address."""
    if isinstance(error, Invalid) and error.fields.get("url") in _WORDS:
        error = Invalid(url=f"{error.fields['url']}: {_WORDS[error.fields['url']]}")
    return refused(request, error)


_WORDS = {
    "private_address": "this host is not on the internet; the operator may allow it (TIKITAKA_WEBHOOK_PRIVATE)",
    "unresolved": "no such host is known to this server",
    "url_not_https": "http:// is for receivers on this very machine",
    "url_credentials": "no name and password in an address",
}


def _show_once(request: HttpRequest, made: NewSecret) -> HttpResponse:
    """In the dialog itself: a message would travel in a cookie, and a page could be asked for again."""
    return render(request, "console/webhook_secret.html", {"secret": made.secret})
