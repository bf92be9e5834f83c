"""Several threads and processes at once: on one file, one log, one flush, one note."""

from __future__ import annotations

import json
import threading
import uuid
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, connections

from apps.conductor.pool import embedded_pool
from apps.conductor.story import close_thread, flush, land, submit
from apps.ledger import clock
from apps.ledger.models import Entry, Log
from apps.ledger.selectors import logs, verify_log
from apps.ledger.services import recording
from apps.memory.models import Flush, Landing, Note
from apps.memory.services.notes import note_digest
from apps.memory.services.review import approve, reject
from apps.tasks.models import AgentLease, Attempt, Message
from apps.tasks.services import stop
from apps.tasks.services.attempts import renew
from apps.tasks.services.claim import claim_ready
from tests.flows.test_promises import extracted, record
from tests.support import processes
from tests.support.cast import Cast
from tests.support.notes import RULE, approved, proposed
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.errors import TikiTakaError
from tikitaka.landing.blocks import find_blocks
from tikitaka.ledger.events import TeamCreated
from tikitaka.safety import Redaction, redact_captured

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*works) -> list[Exception | None]:
    """Runs all at the same moment, each in its thread; the errors by place."""
    barrier = threading.Barrier(len(works))
    errors: list[Exception | None] = [None] * len(works)

    def run(place: int) -> None:
        try:
            barrier.wait(30)
            works[place]()
        except Exception as error:  # noqa: BLE001 what went wrong is what the tests look at
            errors[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return errors


def test_twenty_landings_in_one_file_from_threads_and_processes(committed_cast: Cast) -> None:
    notes = [
        approved(committed_cast, f"Rule number {n} holds for every upload of kind {n * 7}.", severe=True)
        for n in range(20)
    ]
    ids = [str(note.pk) for note in notes]
    others = [
        processes.start(f"from apps.conductor.story import land\nfor note in {ids[start::4]!r}:\n    land(note)")
        for start in (0, 1)
    ]
    errors = at_once(*(lambda part=ids[start::4]: [land(note) for note in part] for start in (2, 3)))
    for process in others:
        process.communicate(timeout=120)
        assert process.returncode == 0

    assert errors == [None, None]
    text = (committed_cast.folder("backend") / "AGENTS.md").read_text()
    assert {str(block.note) for block in find_blocks(text)} == set(ids)
    assert set(Note.objects.values_list("status", flat=True)) == {"active"}
    assert Landing.objects.filter(status="landed").count() == 20


def test_fifty_first_appends_make_one_log_without_gaps(transactional_db) -> None:
    organization = uuid.uuid4()

    def append() -> None:
        with recording(organization) as ledger:
            ledger.record(TeamCreated(team=uuid.uuid4()))

    code = (
        "import uuid\nfrom apps.ledger.services import recording\nfrom tikitaka.ledger.events import TeamCreated\n"
        f"for _ in range(10):\n    with recording(uuid.UUID('{organization}')) as ledger:\n"
        "        ledger.record(TeamCreated(team=uuid.uuid4()))"
    )
    others = [processes.start(code) for _ in range(2)]
    errors = at_once(*[append] * 30)
    for process in others:
        process.communicate(timeout=120)
        assert process.returncode == 0

    assert errors == [None] * 30
    (log,) = logs(organization)
    assert list(Entry.objects.order_by("seq").values_list("seq", flat=True)) == list(range(51))
    assert Entry.objects.filter(type="ledger.log.opened").count() == 1
    assert Log.objects.get().size == 51
    assert verify_log(log).valid


def test_two_workers_flush_one_segment(committed_cast: Cast, settings) -> None:
    settings.TIKITAKA_EXTRACTOR = "replay"
    record(settings, "extract", json.dumps({"notes": [extracted(RULE)]}))
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(2)])
        assert pool.drain(120)
    close_thread(actor=committed_cast.operator, team=committed_cast.team)
    (row,) = Flush.objects.all()

    errors = at_once(*[lambda: flush(row.pk)] * 4)

    assert errors == [None] * 4
    assert Note.objects.count() == 1
    assert Flush.objects.get().status == "done"
    assert len(Flush.objects.get().attempts) == 1


def test_two_reviewers_decide_one_note(committed_cast: Cast) -> None:
    note = proposed(committed_cast)
    shown = note_digest(note)
    again = Note.objects.select_related("team").get(pk=note.pk)

    errors = at_once(
        lambda: approve(actor=committed_cast.reviewer, note=note, shown_digest=shown),
        lambda: reject(actor=committed_cast.reviewer, note=again, shown_digest=shown, words="no"),
    )

    lost = [error for error in errors if error is not None]
    assert len(lost) == 1
    assert isinstance(lost[0], TikiTakaError)
    assert lost[0].code == "already_decided"
    assert "Reviewer" in lost[0].detail or "reviewer" in lost[0].detail
    assert Note.objects.get().status in ("approved", "rejected")
    assert Note.objects.get().decisions.exclude(verdict="edited").count() == 1


def test_a_lease_that_is_renewed_at_the_last_moment_is_not_ended(committed_cast: Cast, monkeypatch) -> None:
    """Renewed after a sweep found that it had run out, before the sweep wrote; one that was not renewed is ended."""
    policy = settings.TIKITAKA_POLICY
    team = committed_cast.team.pk
    plan = [node(2, area="backend"), node(3, area="frontend")]
    submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=plan)
    alive, dead = claim_ready(team=team, organization=committed_cast.organization.pk, policy=policy)
    AgentLease.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    original = stop.finish_attempts

    def late(**arguments):
        assert renew([alive.attempt], policy=policy) == {alive.attempt}
        return original(**arguments)

    monkeypatch.setattr(stop, "finish_attempts", late)
    stop.end_expired(policy=policy)
    statuses = dict(Attempt.objects.values_list("pk", "status"))
    assert statuses == {alive.attempt: "running", dead.attempt: "interrupted"}
    assert AgentLease.objects.get().attempt_id == alive.attempt


def test_what_an_agent_said_is_redacted_outside_of_every_transaction(committed_cast: Cast, monkeypatch) -> None:
    """There is one writer: while a hostile answer is searched for secrets, everybody else's work would stand still."""
    inside: list[bool] = []

    def watched(text: str) -> Redaction:
        inside.append(connection.in_atomic_block)
        return redact_captured(text)

    monkeypatch.setattr("apps.tasks.services.finish.redact_captured", watched)
    with embedded_pool(runtimes=ScriptedRuntime(lambda launch: "The gateway checks.")) as pool:
        submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)])
        assert pool.drain(120)
    assert inside
    assert not any(inside)
    assert Message.objects.filter(text="The gateway checks.").exists()
