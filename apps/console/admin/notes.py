"""The review desk: notes with their evidence and every agent's verdict, and the four decisions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import action, display

from apps.accounts.sessions import principal
from apps.conductor.story import retry_failed_flush, wake_removals
from apps.conductor.wake import wake
from apps.console.admin import story
from apps.console.admin.base import GovernedAdmin
from apps.console.admin.dialogs import (
    ApproveDialog,
    EditDialog,
    ReasonDialog,
    RejectDialog,
    RevokeDialog,
    done,
    refused,
)
from apps.console.identity import holds_anywhere
from apps.memory.models import Flush, FlushStatus, Landing, Note, ReviewItem, Segment
from apps.memory.services import review
from tikitaka.authz import Permission
from tikitaka.errors import TikiTakaError
from tikitaka.notes.contract import Severity
from tikitaka.safety import show_hidden
from tikitaka.text import cut

WAITING = ("pending", "quarantined")
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
    search_help_text = "Search in statements, descriptions and keys"
    ordering = ("-created_at",)
    fields = ("statement_shown", "why_waiting", "verdicts", "landing", "evidence", "history", "facts")
    readonly_fields = fields
    actions_detail = ["approve", "edit", "reject", "revoke"]
    list_before_template = "console/note/list_head.html"

    @display(description="statement")
    def statement(self, note: Note) -> str:
        return show_hidden(cut(note.content, 140))

    @display(description="state", label=_COLORS)
    def state(self, note: Note) -> str:
        return note.status

    @display(description="waits for a person because")
    def waits_for(self, note: Note) -> str:
        return ", ".join(note.review_reasons) if note.status in WAITING else ""

    @display(description="The note")
    def statement_shown(self, note: Note) -> SafeString:
        return story.statement(note)

    @display(description="Why a person must look")
    def why_waiting(self, note: Note) -> SafeString:
        return story.reasons(note)

    @display(description="Who receives it, who does not, and why")
    def verdicts(self, note: Note) -> SafeString:
        return story.verdicts(note)

    @display(description="What is written, and where")
    def landing(self, note: Note) -> SafeString:
        return story.landing(note)

    @display(description="Evidence")
    def evidence(self, note: Note) -> SafeString:
        return story.evidence(note)

    @display(description="Decisions")
    def history(self, note: Note) -> SafeString:
        return story.history(note)

    @display(description="Where it comes from")
    def facts(self, note: Note) -> SafeString:
        return story.facts(note)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {"may_write": holds_anywhere(request, Permission.NOTE_WRITE), **(extra_context or {})}
        return super().changelist_view(request, context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Only the decisions that the state allows, each with the digest of what this page shows."""
        response = super().changeform_view(request, object_id, form_url, extra_context)
        context = getattr(response, "context_data", None) or {}
        note = context.get("original")
        if note is not None:
            fitting = [item for item in context.get("actions_detail", []) if _fits(note.status, item["title"])]
            for item in fitting:
                item["path"] += f"?shown_digest={note.content_digest}"
            context["actions_detail"] = fitting
        return response

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
                recipients=data["recipients"],
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
                recipients=data["recipients"] if data["choose"] else None,
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
    list_display = ("statement", "reasons_shown", "opened_at", "due_at", "closed_at")
    list_display_links = None
    list_filter = (("closed_at", admin.EmptyFieldListFilter),)
    ordering = ("due_at", "id")
    list_select_related = ("note",)

    @display(description="note")
    def statement(self, item: ReviewItem) -> SafeString:
        page = reverse("admin:memory_note_change", args=[item.note_id])
        return format_html('<a href="{}" class="text-link">{}</a>', page, show_hidden(cut(item.note.content, 140)))

    @display(description="reasons")
    def reasons_shown(self, item: ReviewItem) -> str:
        return show_hidden(", ".join(item.reasons))


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
    list_select_related = ("segment__team",)
    actions_detail = ["retry"]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Only what has failed is tried again."""
        flush = self._row(request, object_id)
        failed = flush is not None and flush.status in (FlushStatus.TIMED_OUT, FlushStatus.FAILED)
        return super().get_actions_detail(request, object_id) if failed else []

    def has_retry_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.holds(request, Permission.TASK_RUN, object_id)

    @action(
        description="Try again",
        permissions=["retry"],
        dialog={
            "title": "Try this flush again",
            "description": "The model is back: the flush gets its attempts once more and its incident is closed.",
            "form_class": ReasonDialog,
            "form_submit_text": "Try again",
        },
    )
    def retry(self, request: HttpRequest, form: ReasonDialog, object_id: str) -> HttpResponse:
        flush = self.get_queryset(request).select_related("segment__team").get(pk=object_id)
        try:
            retry_failed_flush(actor=principal(request), flush_row=flush)
        except TikiTakaError as error:
            return refused(request, error)
        return done(request, "It is tried again.")


def _fits(status: str, decision: str) -> bool:
    """Whether a button makes sense; what a POST may do is the service's to say."""
    if decision == "Revoke":
        return status in ("approved", "active")
    return status in WAITING


def _changed_text(note: Note, data: dict[str, Any]) -> review.NoteText | None:
    names = ("content", "description", "skill_key", "severity")
    same = all(data[name].strip() == str(getattr(note, name)).strip() for name in names)
    if same:
        return None
    return review.NoteText(
        content=data["content"],
        description=data["description"],
        skill_key=data["skill_key"],
        severity=Severity(data["severity"]),
        rationale=note.rationale,
    )
