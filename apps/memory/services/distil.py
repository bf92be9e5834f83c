"""From a claimed flush to notes: the model's reply or the sentence classifier, assessment, one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Max

from apps.ledger.services import recording
from apps.memory.models import Flush, Landing, Note, tasks_of
from apps.memory.selectors import participants, segment_tasks, uncovered_nodes
from apps.memory.services.assess import Assessed, ProposedText, assess_all
from apps.memory.services.flushes import (
    ClaimedFlush,
    count_attempt,
    fail_flush,
    finish_flush,
    save_reply,
)
from apps.memory.services.material import Material, gather
from apps.memory.services.notes import NoteDraft, save_notes
from apps.providers.services.vectors import EncoderOff, vectors_for
from apps.teams.models import Agent, Team
from apps.teams.selectors import active_agents
from tikitaka.ledger.events import NoteDeduplicated
from tikitaka.notes.contract import DraftNote, Extracted, NotExtracted, parse_notes
from tikitaka.notes.duplicates import injected_sentences, restates
from tikitaka.notes.request import notes_request
from tikitaka.notes.sentences import draft, load_sentence_model, pick, texts_to_embed
from tikitaka.policy import Policy
from tikitaka.ports import LanguageModel
from tikitaka.replies import ReplyFault
from tikitaka.text import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement with the rows that it cites."""

    text: ProposedText
    attempts: tuple[UUID, ...]
    spans: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """What came out of an extractor; `reason` says why nothing did."""

    statements: tuple[Statement, ...]
    dropped: tuple[dict[str, Any], ...]
    source: str
    reason: str = ""


def distil(*, claimed: ClaimedFlush, model: LanguageModel, policy: Policy) -> list[UUID]:
    """Works a claimed flush through and returns its notes; a fault leaves it to be tried again, never falsely done."""
    flush = claimed.flush
    nodes = uncovered_nodes(flush.segment_id, segment_tasks(flush.segment_id))
    material = gather(flush, nodes, policy=policy)
    if not nodes:
        return _finish(
            claimed, nodes, Distilled(statements=(), dropped=(), source="", reason="nothing_finished"), [], policy
        )
    found = (
        _by_sentences(claimed, material, policy) if model.name == "off" else _by_model(claimed, material, model, policy)
    )
    if isinstance(found, NotExtracted):
        fail_flush(claimed=claimed, reason=found.reason.value)
        return []
    team: Team = flush.segment.team
    candidates = participants(flush.segment, active_agents(team.pk).values_list("pk", flat=True))
    injected = _injected(team, material)
    fresh = [item for item in found.statements if not _was_injected(item.text.content, injected, policy)]
    judged = assess_all([item.text for item in fresh], team=team, candidates=candidates, policy=policy)
    outcomes = dict(zip(fresh, judged, strict=True))
    assessed = [(statement, outcomes.get(statement)) for statement in found.statements]
    return _finish(claimed, nodes, found, assessed, policy)


def _by_model(
    claimed: ClaimedFlush, material: Material, model: LanguageModel, policy: Policy
) -> Distilled | NotExtracted:
    flush = claimed.flush
    if flush.reply is None:
        request = notes_request(material.input, policy=policy)
        count_attempt(claimed=claimed, extractor=model.name)
        reply = model.complete(request)
        parsed = (
            NotExtracted(reason=ReplyFault.TIMEOUT)
            if reply.failure == "timeout"
            else parse_notes(reply.body, attempts=material.input.runs, spans=material.input.spans, policy=policy)
        )
        outcome = parsed.reason.value if isinstance(parsed, NotExtracted) else "accepted"
        sent = request.system + request.user
        save_reply(claimed=claimed, reply=reply, sent=sent, outcome=outcome, priced_as=model.priced_as)
    else:
        count_attempt(claimed=claimed, extractor=model.name, outcome="reply_kept")
        parsed = parse_notes(flush.reply, attempts=material.input.runs, spans=material.input.spans, policy=policy)
    return parsed if isinstance(parsed, NotExtracted) else _resolved(parsed, material)


def _resolved(parsed: Extracted, material: Material) -> Distilled:
    """The model's numbers become rows here, and only here."""
    return Distilled(
        statements=tuple(
            Statement(
                text=_proposed(note),
                attempts=tuple(material.attempts[number - 1] for number in note.attempts),
                spans=tuple(material.spans[number - 1] for number in note.spans),
            )
            for note in parsed.notes
        ),
        dropped=tuple({"note": item.number, "reason": item.reason.value} for item in parsed.dropped),
        source="extracted",
        reason=parsed.reason.value if parsed.reason else "",
    )


def _proposed(note: DraftNote) -> ProposedText:
    return ProposedText(
        content=note.content,
        description=note.description,
        rationale=note.rationale,
        skill_key=note.skill_key,
        severity=note.severity,
    )


def _by_sentences(claimed: ClaimedFlush, material: Material, policy: Policy) -> Distilled | NotExtracted:
    """Without a model: verbatim sentences of the transcript, named as such wherever they are shown."""
    count_attempt(claimed=claimed, extractor="sentences")
    spoken = [index for index, attempt in enumerate(material.line_attempts) if attempt is not None]
    lines = [material.lines[index] for index in spoken]
    try:
        vectors = vectors_for(texts_to_embed(lines))
    except EncoderOff:
        return NotExtracted(reason=ReplyFault.OFF)
    picked = pick(lines, vectors, load_sentence_model(), policy=policy)
    notes = draft(picked, lines, [material.line_prompts[index] for index in spoken], policy=policy)
    statements = []
    for note in notes:
        index = spoken[note.picked.message]
        attempt, span = material.line_attempts[index], material.line_spans[index]
        statements.append(
            Statement(
                text=ProposedText(
                    content=note.content,
                    description=note.description,
                    rationale="A sentence of the transcript, picked by a classifier and copied verbatim.",
                    skill_key=note.skill_key,
                    severity=note.severity,
                ),
                attempts=(attempt,) if attempt else (),
                spans=(span,) if span else (),
            )
        )
    return Distilled(
        statements=tuple(statements), dropped=(), source="sentence", reason="" if statements else "no_durable_notes"
    )


def _injected(team: Team, material: Material) -> tuple[str, ...]:
    """What we put before the agents ourselves: their instructions, what landed for them, imported instructions."""
    instructions = Agent.objects.filter(team=team).values_list("instructions", flat=True)
    landed = Landing.objects.filter(note__team=team, landed_at__isnull=False).values_list("note__content", flat=True)
    return tuple(text for text in (*material.injected, *instructions, *landed.distinct()) if text.strip())


def _was_injected(content: str, injected: Sequence[str], policy: Policy) -> bool:
    try:
        vectors = vectors_for([content, *injected_sentences(injected)]) if injected else {}
    except EncoderOff:
        vectors = {}
    return restates(content, injected, vectors, policy=policy)


def _finish(
    claimed: ClaimedFlush,
    nodes: Sequence[UUID],
    found: Distilled,
    assessed: Sequence[tuple[Statement, Assessed | None]],
    policy: Policy,
) -> list[UUID]:
    """Notes, verdicts, review items and the end of the flush in one transaction, under the flush's claim."""
    flush = claimed.flush
    team: Team = flush.segment.team
    submitters = [
        person for person in tasks_of(flush.segment).values_list("submitted_by", flat=True).distinct() if person
    ]
    drafts: list[NoteDraft] = []
    seen: set[str] = set()
    dropped = list(found.dropped)
    with recording(flush.organization_id) as ledger:
        last = Note.objects.filter(flush=flush).aggregate(last=Max("ordinal"))["last"] or 0
        for number, (statement, outcome) in enumerate(assessed, start=1):
            repeats = _repeats(outcome, seen)
            if repeats is not None or outcome is None:
                dropped.append({"statement": number, "reason": "restated", "of": repeats or "injected"})
                ledger.record(_deduplicated(flush, statement, repeats))
                continue
            seen.add(outcome.content)
            ordinal = last + len(drafts) + 1
            drafts.append(
                NoteDraft(assessed=outcome, attempts=statement.attempts, spans=statement.spans, ordinal=ordinal)
            )
        notes = save_notes(
            drafts,
            team=team,
            source=found.source,
            ledger=ledger,
            policy=policy,
            segment=flush.segment,
            flush=flush,
            submitters=submitters,
        )
        reason = found.reason or ("" if notes else "nothing_new")
        finish_flush(claimed=claimed, nodes=nodes, notes=len(notes), dropped=dropped, reason=reason, ledger=ledger)
    return [note.pk for note in notes]


def _deduplicated(flush: Flush, statement: Statement, of: str | None) -> NoteDeduplicated:
    return NoteDeduplicated(
        flush=flush.pk,
        team=flush.segment.team_id,
        segment=flush.segment_id,
        of=of or "injected",
        content_digest=digest(statement.text.content),
    )


def _repeats(outcome: Assessed | None, seen: set[str]) -> str | None:
    if outcome is None:
        return "injected"
    if outcome.duplicate_of is not None:
        return str(outcome.duplicate_of)
    return "this_flush" if outcome.content in seen else None
