"""Writing a note or a standing rule as a person."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from apps.accounts.selectors import containers_with
from apps.accounts.sessions import principal
from apps.console.identity import abilities, holds_anywhere
from apps.console.views.forms import NoteForm
from apps.memory.models import Note
from apps.memory.services.review import NoteText, write_note
from apps.teams.models import Team
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError
from tikitaka.notes.contract import Severity


@login_required
def new_note(request: HttpRequest) -> HttpResponse:
    """The form; what is written goes the same way as any other note, and somebody else approves it."""
    if not holds_anywhere(request, Permission.NOTE_WRITE):
        raise PermissionDenied("write_note: no_grant")
    teams = containers_with(principal(request), Permission.NOTE_WRITE, Team)
    form = NoteForm(request.POST or None, teams=teams)
    if request.method == "POST" and form.is_valid():
        try:
            note = _write(request, form.cleaned_data)
        except TikiTakaError as error:
            form.refuse(error)
        else:
            messages.success(request, "Written. It waits for another person's approval.")
            return redirect("admin:memory_note_change", note.pk)
    context = {"form": form, "can": abilities(request)}
    return render(request, "console/note_new.html", context, status=400 if form.errors else 200)


def _write(request: HttpRequest, data: dict[str, Any]) -> Note:
    text = NoteText(
        content=data["content"],
        description=data["description"],
        skill_key=data["skill_key"],
        severity=Severity(data["severity"]),
        rationale=data["rationale"],
    )
    return write_note(actor=principal(request), team=data["team"], text=text, policy=settings.TIKITAKA_POLICY)
