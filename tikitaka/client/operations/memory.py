"""Segments, notes and their decisions, landings, incidents. Decisions are for people; a machine's is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tikitaka.client.calls import Call, Id, get, given, keyed, post
from tikitaka.client.operations.teams import Order, pages
from tikitaka.client.reading import Page, one, page
from tikitaka.client.records.memory import Flush, Incident, Landing, Note, ReviewItem, Segment, WholeNote


def list_segments(
    *,
    team: Id | None = None,
    status: str | None = None,
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[Segment]]:
    query = pages(limit, order, cursor, team=team, status=status)
    return get("list_segments", "/api/v1/segments", page(Segment), query=query)


def get_segment(segment: Id) -> Call[Segment]:
    return get("get_segment", "/api/v1/segments/{segment}", one(Segment), segment=segment)


def close_thread(team: Id) -> Call[Segment]:
    """Ends the open thread of work of a team, so that it is distilled."""
    return post("close_thread", "/api/v1/teams/{team}/close-thread", one(Segment), team=team)


def list_notes(
    *,
    team: Id | None = None,
    status: str | None = None,
    segment: Id | None = None,
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[Note]]:
    query = pages(limit, order, cursor, team=team, status=status, segment=segment)
    return get("list_notes", "/api/v1/notes", page(Note), query=query)


def get_note(note: Id) -> Call[WholeNote]:
    """A note with every agent's verdict."""
    return get("get_note", "/api/v1/notes/{note}", one(WholeNote), note=note)


def write_note(
    team: Id,
    *,
    content: str,
    description: str,
    skill_key: str | None = None,
    severity: str | None = None,
    rationale: str | None = None,
    key: str | None = None,
) -> Call[WholeNote]:
    """A note by a person; somebody else approves it."""
    body = given(
        team=team,
        content=content,
        description=description,
        skill_key=skill_key,
        severity=severity,
        rationale=rationale,
    )
    return keyed(post("write_note", "/api/v1/notes", one(WholeNote), body=body), key)


def approve_note(
    note: Id, *, digest: str, recipients: Collection[Id] | None = None, words: str | None = None, key: str | None = None
) -> Call[WholeNote]:
    """Approves exactly the text and recipients whose `content_digest` is given."""
    body = given(recipients=recipients, words=words)
    call = post("approve_note", "/api/v1/notes/{note}/approve", one(WholeNote), body=body, note=note)
    return keyed(call, key, **_match(digest))


def reject_note(note: Id, *, digest: str, words: str, key: str | None = None) -> Call[WholeNote]:
    """Nobody receives it."""
    call = post("reject_note", "/api/v1/notes/{note}/reject", one(WholeNote), body={"words": words}, note=note)
    return keyed(call, key, **_match(digest))


def edit_note(
    note: Id,
    *,
    digest: str,
    text: Mapping[str, str] | None = None,
    recipients: Collection[Id] | None = None,
    words: str | None = None,
    key: str | None = None,
) -> Call[WholeNote]:
    """Changes text or recipients of a waiting note; somebody else approves the edit."""
    body = given(text=text, recipients=recipients, words=words)
    call = post("edit_note", "/api/v1/notes/{note}/edit", one(WholeNote), body=body, note=note)
    return keyed(call, key, **_match(digest))


def revoke_note(note: Id, *, words: str, key: str | None = None) -> Call[WholeNote]:
    """Takes a note back from everybody who holds it."""
    call = post("revoke_note", "/api/v1/notes/{note}/revoke", one(WholeNote), body={"words": words}, note=note)
    return keyed(call, key)


def list_review_items(
    *,
    note: Id | None = None,
    open: bool | None = None,  # noqa: A002 the parameter's name
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[ReviewItem]]:
    """What waits for a person, or waited."""
    query = pages(limit, order, cursor, note=note, open=open)
    return get("list_review_items", "/api/v1/review-items", page(ReviewItem), query=query)


def list_flushes(
    *,
    segment: Id | None = None,
    status: str | None = None,
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[Flush]]:
    """The distillations of closed threads of work."""
    query = pages(limit, order, cursor, segment=segment, status=status)
    return get("list_flushes", "/api/v1/flushes", page(Flush), query=query)


def list_landings(
    *,
    note: Id | None = None,
    agent: Id | None = None,
    status: str | None = None,
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[Landing]]:
    """Which note lies in which agent's workspace."""
    query = pages(limit, order, cursor, note=note, agent=agent, status=status)
    return get("list_landings", "/api/v1/landings", page(Landing), query=query)


def list_incidents(
    *,
    team: Id | None = None,
    kind: str | None = None,
    open: bool | None = None,  # noqa: A002 the parameter's name
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[Incident]]:
    """What a person must look at and that is not a note."""
    query = pages(limit, order, cursor, team=team, kind=kind, open=open)
    return get("list_incidents", "/api/v1/incidents", page(Incident), query=query)


def get_incident(incident: Id) -> Call[Incident]:
    return get("get_incident", "/api/v1/incidents/{incident}", one(Incident), incident=incident)


def close_incident(incident: Id) -> Call[Incident]:
    """Somebody has looked."""
    return post("close_incident", "/api/v1/incidents/{incident}/close", one(Incident), incident=incident)


def _match(digest: str) -> dict[str, str]:
    return {"If-Match": f'"{digest}"'}
