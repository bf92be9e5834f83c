"""A message only hurries: delivering each once, each twice at the same time, or none at all ends in the same rows."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from apps.conductor import wake as waking
from apps.conductor.jobs import jobs
from apps.conductor.pool import EmbeddedPool, embedded_pool
from apps.conductor.runner import Runner
from apps.conductor.story import close_thread, submit
from apps.conductor.sweep import sweep
from apps.ledger.selectors import entries, logs, verify_log
from apps.memory.models import Flush, Landing, Note, Recipient, Segment
from apps.memory.services.notes import note_digest
from apps.memory.services.review import approve, edit, revoke
from apps.tasks.models import AgentLease, Attempt, Message, PlanNode, Task, TreeLock
from tests.flows.test_promises import extracted, record
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db(transaction=True)
RULE = "The gateway must always check the size of every upload."
OVER = "Invoices are numbered by the ledger service alone."


class DoublingPool(EmbeddedPool):
    """Every wake-up runs its job twice, side by side."""

    def __init__(self) -> None:
        super().__init__(runtimes=ScriptedRuntime(lambda launch: RULE))
        self._open = 0
        self._done = threading.Condition()

    def wake(self, job: str, subject: UUID) -> None:
        for _ in range(2):
            with self._done:
                self._open += 1
            self._threads.start(lambda: self._once(job, subject))

    def _once(self, job: str, subject: UUID) -> None:
        try:
            self._jobs[job](subject)
        finally:
            with self._done:
                self._open -= 1
                self._done.notify_all()

    def drain(self, timeout_s: float = 60) -> bool:
        with self._done:
            return self._done.wait_for(lambda: not self._open and not self.runner.busy(), timeout=timeout_s)


class Swallowing:
    """Forgets every wake-up but those that the sweep sends itself."""

    def __init__(self) -> None:
        self._sweeping = False
        self._found: list[tuple[str, UUID]] = []
        self._jobs = jobs(Runner(start=lambda work: work(), slots=4, runtimes=ScriptedRuntime(lambda launch: RULE)))

    def wake(self, job: str, subject: UUID) -> None:
        if self._sweeping:
            self._found.append((job, subject))

    def drain(self) -> None:
        """Sweeps until a sweep finds what the one before it found; runs what it finds, one after the other."""
        for _ in range(12):
            self._sweeping = True
            sweep()
            self._sweeping = False
            found, self._found = self._found, []
            for job, subject in found:
                self._jobs[job](subject)


def tell(cast: Cast, drain: Callable[[], Any]) -> None:
    """From a prompt to a landed note, and another one taken back."""
    submit(actor=cast.operator, team=cast.team, prompt="Uploads", plan=[node(1), node(2), node(3, after=(1, 2))])
    drain()
    close_thread(actor=cast.operator, team=cast.team)
    drain()
    for note in Note.objects.filter(status="pending").select_related("team"):
        wanted = {cast.agents["backend"].pk}
        moved = edit(actor=cast.owner, note=note, shown_digest=note.content_digest, policy=DEFAULT, recipients=wanted)
        approve(actor=cast.reviewer, note=moved, shown_digest=note_digest(moved))
        waking.wake("land", note.pk)
    drain()
    revoke(actor=cast.reviewer, note=Note.objects.get(content=OVER), words="over")
    for landing in Landing.objects.filter(note__content=OVER):
        waking.wake("remove", landing.pk)
    drain()


def rows(cast: Cast) -> dict[str, Any]:
    return {
        "tasks": Counter(Task.objects.values_list("status", flat=True)),
        "nodes": sorted(PlanNode.objects.values_list("index", "status", "attempts")),
        "attempts": Counter(Attempt.objects.values_list("number", "status", "output")),
        "messages": sorted(Message.objects.values_list("seq", flat=True)),
        "segments": Counter(Segment.objects.values_list("status", flat=True)),
        "flushes": [(f.final, f.status, len(f.attempts)) for f in Flush.objects.order_by("ordinal")],
        "notes": Counter(Note.objects.values_list("content", "status")),
        "verdicts": Counter(Recipient.objects.values_list("agent__name", "verdict", "reason")),
        "landings": Counter(Landing.objects.values_list("agent__name", "file", "status")),
        "held": (AgentLease.objects.count(), TreeLock.objects.count()),
        "entries": Counter(entries(cast.organization.pk).values_list("type", flat=True)),
        "files": {name: sorted(skills(cast, name)) for name in cast.agents},
    }


def skills(cast: Cast, name: str) -> list[str]:
    return [path.read_text("utf-8").split("---")[-1] for path in cast.folder(name).glob(".agents/skills/*/SKILL.md")]


def once(cast: Cast) -> None:
    with embedded_pool(runtimes=ScriptedRuntime(lambda launch: RULE)) as pool:
        tell(cast, lambda: pool.drain(120))


def twice(cast: Cast) -> None:
    pool = DoublingPool()
    waking.bind(pool)
    try:
        tell(cast, lambda: pool.drain(120))
    finally:
        waking.bind(None)
        pool.stop()


def never(cast: Cast) -> None:
    swallowing = Swallowing()
    waking.bind(swallowing)
    try:
        tell(cast, swallowing.drain)
    finally:
        waking.bind(None)
        connections.close_all()


@pytest.mark.parametrize("delivered", [once, twice, never])
def test_the_same_rows_however_often_messages_come(
    committed_cast: Cast, delivered: Callable[[Cast], None], settings: Any
) -> None:
    settings.TIKITAKA_EXTRACTOR = "replay"
    notes = [extracted(RULE, skillKey="uploads"), extracted(OVER, skillKey="invoices")]
    record(settings, "extract", json.dumps({"notes": notes}))
    delivered(committed_cast)
    found = rows(committed_cast)

    assert found["tasks"] == {"completed": 1}
    assert found["nodes"] == [(1, "completed", 1), (2, "completed", 1), (3, "completed", 1)]
    assert found["attempts"] == {(1, "completed", RULE): 3}
    assert found["messages"] == [1, 2, 3, 4]
    assert found["segments"] == {"closed": 1}
    assert found["flushes"] == [(True, "done", 1)]
    assert found["notes"] == {(RULE, "active"): 1, (OVER, "revoked"): 1}
    assert found["held"] == (0, 0)
    assert sorted((status, count) for (_, _, status), count in found["landings"].items()) == [
        ("landed", 1),
        ("removed", 1),
    ]
    assert [text.count(RULE) for text in found["files"]["backend"]] == [1]
    expected = {"task.settled": 1, "memory.segment.flushed": 1, "memory.note.proposed": 2, "memory.note.activated": 2}
    assert {kind: found["entries"][kind] for kind in expected} == expected
    assert found["entries"]["task.attempt.started"] == found["entries"]["task.attempt.settled"] == 3
    assert all(verify_log(log).valid for log in logs())
