"""The review desk: notes with their evidence and every agent's verdict, and the four decisions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from unfold.decorators import action, display

from apps.audit.knowledge import note_story
from apps.conductor.story import wake_removals
from apps.conductor.wake import wake
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.dialogs import ApproveDialog, EditDialog, RejectDialog, RevokeDialog, done, refused
from apps.console.identity import principal
from apps.memory.models import Flush, Landing, Note, ReviewItem, Segment
from apps.memory.services import review
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError
from tikitaka.notes.contract import Severity
from tikitaka.review.triggers import EXPLANATIONS, ReviewReason
from tikitaka.safety import show_hidden

_COLORS = {
    "pending": "warning",
    "quarantined": "danger",
    "approved": "info",
    "active": "success",
    "rejected": "",
    "revoked": "",
    "expired": "",
}


@admin.register(Note)
class NoteAdmin(GovernedAdmin):
    sees = Permission.NOTE_VIEW
    list_display = ("statement", "state", "severity", "waits_for", "team", "source", "created_at")
    list_filter = ("status", "severity", "source", "team")
    search_fields = ("content", "description", "skill_key")
    ordering = ("-created_at",)
    fields = ("statement_shown", "why_waiting", "verdicts", "evidence", "history", "facts")
    readonly_fields = fields
    actions_detail = ["approve", "edit", "reject", "revoke"]

    @display(description="statement")
    def statement(self, note: Note) -> str:
        return show_hidden(note.content)[:140]

    @display(description="state", label=_COLORS)
    def state(self, note: Note) -> str:
        return note.status

    @display(description="waits for a person because")
    def waits_for(self, note: Note) -> str:
        return ", ".join(note.review_reasons) if note.status in ("pending", "quarantined") else ""

    @display(description="The note")
    def statement_shown(self, note: Note) -> SafeString:
        texts = {name: show_hidden(getattr(note, name)) for name in ("content", "description", "rationale")}
        return _part("statement", {"note": note, **texts})

    @display(description="Why a person must look")
    def why_waiting(self, note: Note) -> SafeString:
        reasons = [(reason, EXPLANATIONS[ReviewReason(reason)]) for reason in note.review_reasons]
        return _part("reasons", {"reasons": reasons, "findings": note.findings, "fault": note.landing_fault})

    @display(description="Who receives it, who does not, and why")
    def verdicts(self, note: Note) -> SafeString:
        return _part("verdicts", {"rows": note_story(note.pk)})

    @display(description="Evidence")
    def evidence(self, note: Note) -> SafeString:
        spans = note.cited_spans.select_related("attempt__agent").order_by("attempt", "seq")
        attempts = note.cited_attempts.select_related("agent", "node").order_by("started_at")
        update = show_hidden(note.possible_update_of.content) if note.possible_update_of else ""
        return _part(
            "evidence",
            {
                "spans": [(span, show_hidden(span.text)) for span in spans],
                "attempts": [(attempt, show_hidden(attempt.output)) for attempt in attempts],
                "update": update,
            },
        )

    @display(description="Decisions")
    def history(self, note: Note) -> SafeString:
        return _part("history", {"decisions": note.decisions.select_related("reviewer").order_by("at")})

    @display(description="Facts")
    def facts(self, note: Note) -> SafeString:
        return _part("facts", {"note": note})

    def has_decide_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.NOTE_DECIDE, object_id)

    def has_revoke_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.NOTE_REVOKE, object_id)

    @action(
        description="Approve",
        permissions=["decide"],
        dialog={
            "title": "Approve this note",
            "description": "It is written into the workspace of each recipient below.",
            "form_class": ApproveDialog,
            "form_submit_text": "Approve",
        },
    )
    def approve(self, request: HttpRequest, form: ApproveDialog, object_id: str) -> HttpResponse:
        data = form.cleaned_data
        try:
            note = self._note(request, object_id)
            review.approve(
                actor=principal(request),
                note=note,
                shown_digest=data["shown_digest"],
                recipients={UUID(agent) for agent in data["recipients"]},
                words=data["words"],
            )
        except TikiTakaError as error:
            return refused(request, error)
        wake("land", note.pk)
        return done(request, "Approved. It lands now.")

    @action(
        description="Edit",
        permissions=["decide"],
        dialog={
            "title": "Edit this note",
            "description": "New text is screened and recognized anew. Somebody else approves what you changed.",
            "form_class": EditDialog,
            "form_submit_text": "Save the edit",
        },
    )
    def edit(self, request: HttpRequest, form: EditDialog, object_id: str) -> HttpResponse:
        data = form.cleaned_data
        try:
            note = self._note(request, object_id)
            review.edit(
                actor=principal(request),
                note=note,
                shown_digest=data["shown_digest"],
                policy=settings.TIKITAKA_POLICY,
                text=_changed_text(note, data),
                recipients={UUID(agent) for agent in data["recipients"]} if data["choose"] else None,
                words=data["words"],
            )
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "Saved. It waits for another person's approval.")

    @action(
        description="Reject",
        permissions=["decide"],
        dialog={
            "title": "Reject this note",
            "description": "Nobody receives it.",
            "form_class": RejectDialog,
            "form_submit_text": "Reject",
        },
    )
    def reject(self, request: HttpRequest, form: RejectDialog, object_id: str) -> HttpResponse:
        data = form.cleaned_data
        try:
            note = self._note(request, object_id)
            review.reject(actor=principal(request), note=note, shown_digest=data["shown_digest"], words=data["words"])
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "Rejected.")

    @action(
        description="Revoke",
        permissions=["revoke"],
        dialog={
            "title": "Revoke this note",
            "description": "It is taken out of every file that holds it. Agents that run now keep what they have read.",
            "form_class": RevokeDialog,
            "form_submit_text": "Revoke",
        },
    )
    def revoke(self, request: HttpRequest, form: RevokeDialog, object_id: str) -> HttpResponse:
        try:
            note = self._note(request, object_id)
            review.revoke(actor=principal(request), note=note, words=form.cleaned_data["words"])
        except TikiTakaError as error:
            return refused(request, error)
        wake_removals()
        return done(request, "Revoked. Its files are cleaned now; effective from the next run.")

    def _note(self, request: HttpRequest, object_id: str) -> Note:
        rows: QuerySet[Note] = self.get_queryset(request)
        return rows.select_related("team__organization").get(pk=object_id)


@admin.register(ReviewItem)
class ReviewItemAdmin(GovernedAdmin):
    sees = Permission.NOTE_VIEW
    team_path = "note__team"
    list_display = ("note", "reasons_shown", "opened_at", "due_at", "closed_at")
    list_filter = (("closed_at", admin.EmptyFieldListFilter),)
    ordering = ("due_at", "id")
    list_select_related = ("note",)

    @display(description="reasons")
    def reasons_shown(self, item: ReviewItem) -> str:
        return ", ".join(item.reasons)


@admin.register(Landing)
class LandingAdmin(GovernedAdmin):
    sees = Permission.NOTE_VIEW
    team_path = "note__team"
    list_display = ("agent", "note", "file", "status", "fault", "landed_at", "removed_at", "confirmed_at")
    list_filter = ("status", "agent")
    list_select_related = ("agent", "note")


@admin.register(Segment)
class SegmentAdmin(GovernedAdmin):
    list_display = (
        "id",
        "team",
        "status",
        "close_reason",
        "signal",
        "value_bp",
        "threshold_bp",
        "opened_at",
        "closed_at",
    )
    list_filter = ("status", "close_reason", "team")


@admin.register(Flush)
class FlushAdmin(GovernedAdmin):
    team_path = "segment__team"
    list_display = ("segment", "ordinal", "final", "status", "extractor", "reason", "finished_at")
    list_filter = ("status", "extractor")
    exclude = ("reply",)


def _part(name: str, context: dict[str, Any]) -> SafeString:
    return SafeString(render_to_string(f"console/note/{name}.html", context))


def _changed_text(note: Note, data: dict[str, Any]) -> review.NoteText | None:
    same = all(data[name] == getattr(note, name) for name in ("content", "description", "skill_key", "severity"))
    if same:
        return None
    return review.NoteText(
        content=data["content"],
        description=data["description"],
        skill_key=data["skill_key"],
        severity=Severity(data["severity"]),
        rationale=note.rationale,
    )
