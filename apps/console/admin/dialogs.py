"""The dialogs in which a person decides: GET shows the form, POST with the CSRF token acts."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from apps.memory.models import Note, Recipient
from apps.memory.services.notes import note_digest
from apps.teams.selectors import active_agents
from tikitaka.errors import TikiTakaError
from tikitaka.notes.contract import Severity


class NoteDialog(BaseDialogForm):
    """Carries the digest of what was on the screen; the service compares it with what is there now."""

    shown_digest = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, request: HttpRequest, object_id: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, object_id, *args, **kwargs)
        identity = _uuid(object_id)
        self.note = Note.objects.select_related("team").filter(pk=identity).first() if identity else None
        if self.note is not None:
            self.fields["shown_digest"].initial = note_digest(self.note)
            self.prepare(self.note)

    def prepare(self, note: Note) -> None:
        """Fills in what depends on the note."""


class ApproveDialog(NoteDialog):
    recipients = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Leave somebody out to narrow the note. Adding somebody is an edit, which another person approves.",
    )
    words = forms.CharField(required=False, max_length=500, widget=UnfoldAdminTextInputWidget)

    def prepare(self, note: Note) -> None:
        rows = Recipient.objects.filter(note=note, verdict="granted").select_related("agent")
        field = self.fields["recipients"]
        field.choices = [(str(row.agent_id), row.agent.name) for row in rows]
        field.initial = [str(row.agent_id) for row in rows]


class RejectDialog(NoteDialog):
    words = forms.CharField(max_length=500, label="Reason", widget=UnfoldAdminTextareaWidget)


class RevokeDialog(RejectDialog):
    """Taken back from everybody who holds it."""


class EditDialog(NoteDialog):
    content = forms.CharField(max_length=2_000, widget=UnfoldAdminTextareaWidget)
    description = forms.CharField(max_length=300, widget=UnfoldAdminTextInputWidget)
    skill_key = forms.CharField(max_length=64, widget=UnfoldAdminTextInputWidget)
    severity = forms.ChoiceField(choices=[(s.value, s.value) for s in Severity], widget=UnfoldAdminSelectWidget)
    choose = forms.BooleanField(required=False, label="Choose the recipients by hand")
    recipients = forms.MultipleChoiceField(required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget)
    words = forms.CharField(max_length=500, label="Reason", widget=UnfoldAdminTextInputWidget)

    def prepare(self, note: Note) -> None:
        for name in ("content", "description", "skill_key", "severity"):
            self.fields[name].initial = getattr(note, name)
        field = self.fields["recipients"]
        field.choices = [(str(agent.pk), agent.name) for agent in active_agents(note.team_id)]
        granted = Recipient.objects.filter(note=note, verdict="granted").values_list("agent_id", flat=True)
        field.initial = [str(agent) for agent in granted]


class ReasonDialog(BaseDialogForm):
    """Nothing to fill in: the button is the decision, and it is a POST."""


def done(request: HttpRequest, text: str) -> HttpResponse:
    """Closes a dialog and shows the page anew; an ordinary redirect would leave the old one on the screen."""
    messages.success(request, text)
    return _back(request)


def refused(request: HttpRequest, error: TikiTakaError) -> HttpResponse:
    """The same with the named reason of a refusal."""
    messages.error(request, f"{error.code}: {error.detail}")
    return _back(request)


def _back(request: HttpRequest) -> HttpResponse:
    response = HttpResponse()
    page = urlsplit(request.headers.get("HX-Current-URL", "")).path
    response["HX-Redirect"] = page if page.startswith("/admin/") else "/admin/"
    return response


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None
