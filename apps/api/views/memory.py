"""Segments, notes and their decisions, landings, incidents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.idempotency import once
from apps.api.reach import seen
from apps.api.reading import Rows
from apps.api.shapes.base import Nothing, PageQuery
from apps.api.shapes.memory import (
    Approval,
    DecisionShape,
    Edit,
    FlushQuery,
    FlushShape,
    IncidentQuery,
    IncidentShape,
    LandingQuery,
    LandingShape,
    NewNote,
    NoteQuery,
    NoteShape,
    RecipientShape,
    ReviewItemQuery,
    ReviewItemShape,
    SegmentQuery,
    SegmentShape,
    WholeNote,
    Words,
)
from apps.api.views.base import KEY, Door, page_of
from apps.conductor import story
from apps.conductor.incidents import close_incident
from apps.conductor.models import Incident
from apps.conductor.wake import wake
from apps.ledger.queries import ask
from apps.ledger.rows import Condition, either, equal, every
from apps.memory.models import Decision, Flush, Landing, Note, Recipient, ReviewItem, Segment
from apps.memory.services import review
from apps.memory.services.review import NoteText
from apps.teams.models import Team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import Invalid
from tikitaka.notes.contract import Severity

VIEW_NOTES = Permission.NOTE_VIEW
_ROSTER = "(SELECT position FROM teams_agent WHERE teams_agent.id = agent_id)"
MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="the `ETag` of the note as you were shown it, which is its content digest in quotes",
)


class Segments(Door):
    names: ClassVar = {"GET": "list_segments"}

    @extend_schema(parameters=[PageQuery, SegmentQuery], responses=page_of(SegmentShape))
    def get(self, request: Request) -> Response:
        """Threads of work; a closed one is distilled into notes."""
        return self.page(self.rows(Segment).where(**SegmentQuery.of(request)), SegmentShape, SegmentQuery)


class OneSegment(Door):
    names: ClassVar = {"GET": "get_segment"}

    @extend_schema(responses=SegmentShape)
    def get(self, request: Request, segment: UUID) -> Response:
        """One thread of work."""
        return Response(self.found(Segment, segment, SegmentShape))


class Notes(Door):
    names: ClassVar = {"GET": "list_notes", "POST": "write_note"}

    @extend_schema(parameters=[PageQuery, NoteQuery], responses=page_of(NoteShape))
    def get(self, request: Request) -> Response:
        """The notes of the teams whose notes you may read."""
        rows = self.rows(Note, sees=VIEW_NOTES).where(**NoteQuery.of(request))
        return self.page(rows, NoteShape, NoteQuery)

    @extend_schema(request=NewNote, responses={201: WholeNote}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        """A note by a person; it goes the same way as any other, and somebody else approves it."""
        asked = NewNote.read(request)
        team = self.reach(Team, asked.pop("team"), Permission.NOTE_WRITE)

        def act() -> Response:
            note = review.write_note(actor=self.actor, team=team, text=_text(asked), policy=settings.TIKITAKA_POLICY)
            return _answer(_whole(note.pk, Rows(Note)), status=201)

        return once(request, act)


class OneNote(Door):
    names: ClassVar = {"GET": "get_note"}

    @extend_schema(responses=WholeNote)
    def get(self, request: Request, note: UUID) -> Response:
        """A note with every agent's verdict. Its `ETag` is what a decision must name."""
        whole = _whole(note, self.rows(Note, sees=VIEW_NOTES))
        if whole is None:
            self.miss(Note, note, sees=VIEW_NOTES)
        return _answer(whole)


class _NoteDeed(Door):
    """A decision about a note, by a person, on exactly what they were shown."""

    needs = Permission.NOTE_DECIDE

    def decide(self, request: Request, note: UUID, act: Callable[[Note], Any]) -> Response:
        found = self.reach(Note, note, self.needs, sees=VIEW_NOTES, select="team")

        def deed() -> Response:
            act(found)
            return _answer(_whole(note, Rows(Note)))

        return once(request, deed)


class NoteApproval(_NoteDeed):
    names: ClassVar = {"POST": "approve_note"}

    @extend_schema(request=Approval, responses=WholeNote, parameters=[MATCH, KEY])
    def post(self, request: Request, note: UUID) -> Response:
        """Approves exactly what was shown; it lands soon. Machines never decide."""
        asked = Approval.read(request)
        shown = _digest_of(request)

        def act(found: Note) -> None:
            review.approve(actor=self.actor, note=found, shown_digest=shown, **asked)
            wake("land", found.pk)

        return self.decide(request, note, act)


class NoteRejection(_NoteDeed):
    names: ClassVar = {"POST": "reject_note"}

    @extend_schema(request=Words, responses=WholeNote, parameters=[MATCH, KEY])
    def post(self, request: Request, note: UUID) -> Response:
        """Nobody receives it. Machines never decide."""
        asked = Words.read(request)
        shown = _digest_of(request)
        return self.decide(
            request,
            note,
            lambda found: review.reject(actor=self.actor, note=found, shown_digest=shown, words=asked["words"]),
        )


class NoteEdit(_NoteDeed):
    names: ClassVar = {"POST": "edit_note"}

    @extend_schema(request=Edit, responses=WholeNote, parameters=[MATCH, KEY])
    def post(self, request: Request, note: UUID) -> Response:
        """Changes text or recipients of a waiting note; somebody else approves the edit."""
        asked = Edit.read(request)
        shown = _digest_of(request)
        text = _text(asked["text"]) if "text" in asked else None
        return self.decide(
            request,
            note,
            lambda found: review.edit(
                actor=self.actor,
                note=found,
                shown_digest=shown,
                policy=settings.TIKITAKA_POLICY,
                text=text,
                recipients=asked.get("recipients"),
                words=asked["words"],
            ),
        )


class NoteRevocation(_NoteDeed):
    needs = Permission.NOTE_REVOKE
    names: ClassVar = {"POST": "revoke_note"}

    @extend_schema(request=Words, responses=WholeNote, parameters=[KEY])
    def post(self, request: Request, note: UUID) -> Response:
        """Takes a note back from everybody who holds it. Machines never decide."""
        asked = Words.read(request)

        def act(found: Note) -> None:
            review.revoke(actor=self.actor, note=found, words=asked["words"])
            story.wake_removals()

        return self.decide(request, note, act)


class ReviewItems(Door):
    names: ClassVar = {"GET": "list_review_items"}

    @extend_schema(parameters=[PageQuery, ReviewItemQuery], responses=page_of(ReviewItemShape))
    def get(self, request: Request) -> Response:
        """What waits for a person, or waited: which version of which note, why, and until when."""
        asked = ReviewItemQuery.of(request)
        only_open = asked.pop("open", None)
        rows = self.rows(ReviewItem, sees=VIEW_NOTES, path="note__team").where(**asked)
        return self.page(_only(rows, is_open=only_open), ReviewItemShape, ReviewItemQuery)


class Flushes(Door):
    names: ClassVar = {"GET": "list_flushes"}

    @extend_schema(parameters=[PageQuery, FlushQuery], responses=page_of(FlushShape))
    def get(self, request: Request) -> Response:
        """The distillations of closed threads of work; what a model answered is not among it."""
        return self.page(self.rows(Flush, path="segment__team").where(**FlushQuery.of(request)), FlushShape, FlushQuery)


class Landings(Door):
    names: ClassVar = {"GET": "list_landings"}

    @extend_schema(parameters=[PageQuery, LandingQuery], responses=page_of(LandingShape))
    def get(self, request: Request) -> Response:
        """Which note lies in which agent's workspace."""
        rows = self.rows(Landing, sees=VIEW_NOTES, path="note__team").where(**LandingQuery.of(request))
        return self.page(rows, LandingShape, LandingQuery)


class Incidents(Door):
    names: ClassVar = {"GET": "list_incidents"}

    @extend_schema(parameters=[PageQuery, IncidentQuery], responses=page_of(IncidentShape))
    def get(self, request: Request) -> Response:
        """What a person must look at and that is not a note."""
        asked = IncidentQuery.of(request)
        only_open = asked.pop("open", None)
        rows = Rows(Incident).where(**asked).having(either(seen(self.actor, Incident), _of_no_team(self.actor)))
        return self.page(_only(rows, is_open=only_open), IncidentShape, IncidentQuery)


class OneIncident(Door):
    names: ClassVar = {"GET": "get_incident"}

    @extend_schema(responses=IncidentShape)
    def get(self, request: Request, incident: UUID) -> Response:
        """One incident."""
        return Response(self.found(Incident, incident, IncidentShape, path=_path_of(incident)))


class IncidentClosing(Door):
    names: ClassVar = {"POST": "close_incident"}

    @extend_schema(request=Nothing, responses=IncidentShape)
    def post(self, request: Request, incident: UUID) -> Response:
        """Somebody has looked. A person does that, no machine."""
        Nothing.read(request)
        found = self.reach(
            Incident,
            incident,
            Permission.INCIDENT_CLOSE,
            path=_path_of(incident),
            select="organization",
        )
        close_incident(actor=self.actor, incident=found)
        return Response(self.shown(Incident, incident, IncidentShape))


class ThreadClosing(Door):
    names: ClassVar = {"POST": "close_thread"}

    @extend_schema(request=Nothing, responses=SegmentShape)
    def post(self, request: Request, team: UUID) -> Response:
        """Ends the open thread of work of a team, so that it is distilled."""
        Nothing.read(request)
        found = self.reach(Team, team, Permission.TASK_RUN, select="organization")
        segment = story.close_thread(actor=self.actor, team=found)
        return Response(self.shown(Segment, segment.pk, SegmentShape))


def _only(rows: Rows, *, is_open: bool | None) -> Rows:
    """Those that are open, or those that are not any more; with None all of them."""
    return rows if is_open is None else rows.having(Condition(f"closed_at IS {'' if is_open else 'NOT '}NULL"))


def _of_no_team(actor: Principal) -> Condition:
    """Incidents of an organization as a whole, such as a broken log."""
    return every((seen(actor, Incident, path="organization"), equal("team_id", None)))


def _path_of(incident: UUID) -> str:
    return "organization" if Incident.objects.filter(pk=incident, team=None).exists() else "team"


def _text(asked: dict[str, Any]) -> NoteText:
    return NoteText(**{**asked, "severity": Severity(asked["severity"])})


def _digest_of(request: Request) -> str:
    tag = request.headers.get("If-Match", "").strip()
    if len(tag) < 2 or not (tag.startswith('"') and tag.endswith('"')):
        raise Invalid(**{"If-Match": "must be the ETag of the note as you were shown it"})
    return tag[1:-1]


def _whole(note: UUID, rows: Rows) -> dict[str, Any] | None:
    """A note with all that belongs to it, in as many queries however many agents there are; None if not of `rows`."""
    found, recipients, decisions, landings = ask(
        rows.where(id=note).all(NoteShape, order="id"),
        Rows(Recipient).where(note=note).all(RecipientShape, order=_ROSTER),
        Rows(Decision).where(note=note).all(DecisionShape, order="at, id"),
        Rows(Landing).where(note=note).all(LandingShape, order="id"),
    )
    if not found:
        return None
    return {**found[0], "recipients": recipients, "decisions": decisions, "landings": landings}


def _answer(whole: dict[str, Any] | None, status: int = 200) -> Response:
    assert whole is not None
    return Response(whole, status=status, headers={"ETag": f'"{whole["content_digest"]}"'})
