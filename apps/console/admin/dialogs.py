"""The dialogs in which a person decides: GET shows the form, POST with the CSRF token acts."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from apps.console.admin.preview import previews
from apps.memory.models import Note, Recipient
from apps.memory.services.notes import note_digest
from apps.teams.selectors import active_agents
from tikitaka.errors import Forbidden, Invalid, NotFound, TikiTakaError, WrongState
from tikitaka.notes.contract import Severity
from tikitaka.safety import show_hidden

_STATUS = ((Forbidden, 403), (NotFound, 404), (WrongState, 409), (Invalid, 400))


class AgentsField(forms.MultipleChoiceField):
    """Ids of agents. Which of them are allowed is the service's to say, on the rows as they are when it acts."""

    widget = UnfoldAdminCheckboxSelectMultipleWidget

    def valid_value(self, value: str) -> bool:
        return as_uuid(value) is not None

    def clean(self, value: Any) -> set[UUID]:
        return {UUID(agent) for agent in super().clean(value)}


class NoteDialog(BaseDialogForm):
    """Carries the digest of what was on the page; the service compares it with what is there now."""

    form_before_template = "console/note/dialog.html"
    shown_digest = forms.CharField(widget=forms.HiddenInput, max_length=64)

    def __init__(self, request: HttpRequest, object_id: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, object_id, *args, **kwargs)
        identity = as_uuid(object_id)
        self.note = Note.objects.select_related("team").filter(pk=identity).first() if identity else None
        if self.note is not None:
            self.present_digest = note_digest(self.note)
            self.fields["shown_digest"].initial = request.GET.get("shown_digest") or self.present_digest
            self.prepare(self.note)

    def prepare(self, note: Note) -> None:
        """Fills in what depends on the note."""

    def get_before_template_context(self, request: HttpRequest, object_id: Any = None) -> dict[str, Any]:
        if self.note is None:
            return {}
        return {
            "note": self.note,
            "content": show_hidden(self.note.content),
            "description": show_hidden(self.note.description),
            "previews": previews(self.note),
            "changed": self["shown_digest"].value() != self.present_digest,
        }


class ApproveDialog(NoteDialog):
    recipients = AgentsField(
        error_messages={"required": "Choose at least one. A note that nobody should have is rejected."},
        help_text="Leave somebody out to narrow the note. Adding somebody is an edit, which another person approves.",
    )
    words = forms.CharField(
        required=False, max_length=500, label="Words for the record", widget=UnfoldAdminTextInputWidget
    )

    def prepare(self, note: Note) -> None:
        rows = (
            Recipient.objects.filter(note=note, verdict="granted").select_related("agent").order_by("agent__position")
        )
        field: Any = self.fields["recipients"]
        field.choices = [(str(row.agent_id), show_hidden(row.agent.name)) for row in rows]
        field.initial = [str(row.agent_id) for row in rows]


class RejectDialog(NoteDialog):
    words = forms.CharField(max_length=500, label="Reason", widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))


class RevokeDialog(RejectDialog):
    """Taken back from everybody who holds it."""


class EditDialog(NoteDialog):
    content = forms.CharField(max_length=2_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 5}))
    description = forms.CharField(max_length=300, label="When it matters", widget=UnfoldAdminTextInputWidget)
    skill_key = forms.CharField(max_length=64, widget=UnfoldAdminTextInputWidget)
    severity = forms.ChoiceField(choices=[(s.value, s.value) for s in Severity], widget=UnfoldAdminSelectWidget)
    choose = forms.BooleanField(
        required=False, label="Choose the recipients by hand, inside the team", widget=UnfoldBooleanWidget
    )
    recipients = AgentsField(required=False)
    words = forms.CharField(max_length=500, label="Reason", widget=UnfoldAdminTextInputWidget)

    def prepare(self, note: Note) -> None:
        for name in ("content", "description", "skill_key", "severity"):
            self.fields[name].initial = getattr(note, name)
        field: Any = self.fields["recipients"]
        field.choices = [(str(agent.pk), show_hidden(agent.name)) for agent in active_agents(note.team_id)]
        granted = Recipient.objects.filter(note=note, verdict="granted").values_list("agent_id", flat=True)
        field.initial = [str(agent) for agent in granted]

    def clean_content(self) -> str:
        """Browsers send line ends as CR LF; that alone changes nothing."""
        return str(self.cleaned_data["content"]).replace("\r\n", "\n")

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if cleaned and cleaned.get("choose") and not cleaned.get("recipients"):
            self.add_error("recipients", ValidationError("Choose at least one, or reject the note."))
        return cleaned


class ReasonDialog(BaseDialogForm):
    """Nothing to fill in: the button is the decision, and it is a POST."""


def done(request: HttpRequest, text: str) -> HttpResponse:
    """Closes a dialog and shows the page anew; an ordinary redirect would leave the old one on the screen."""
    messages.success(request, text)
    return _back(request, 200)


def refused(request: HttpRequest, error: TikiTakaError) -> HttpResponse:
    """The same with the named reason of a refusal."""
    messages.error(request, f"{error.code}: {error.detail}")
    return _back(request, next((status for kind, status in _STATUS if isinstance(error, kind)), 400))


def _back(request: HttpRequest, status: int) -> HttpResponse:
    """To the page on which the dialog was opened; a browser without scripts follows an ordinary redirect."""
    came_from = urlsplit(request.headers.get("HX-Current-URL", "")).path
    page = came_from if came_from.startswith("/admin/") else _page_of(request)
    if not request.headers.get("HX-Request"):
        return HttpResponseRedirect(page)
    response = HttpResponse(status=status)
    response["HX-Redirect"] = page
    return response


def _page_of(request: HttpRequest) -> str:
    """The page of the row that the dialog is about."""
    match = request.resolver_match
    if match is None or not match.url_name or "object_id" not in match.kwargs:
        return reverse("admin:index")
    app, model = match.url_name.split("_")[:2]
    return reverse(f"admin:{app}_{model}_change", args=[match.kwargs["object_id"]])


def as_uuid(value: Any) -> UUID | None:
    """The id that an address names; None for what is none."""
    try:
        return UUID(str(value))
    except ValueError:
        return None
