"""What must be true once two sweeps have run, whatever died before."""

from __future__ import annotations

from collections import Counter

from apps.ledger.selectors import entries, logs, verify_log
from apps.memory.models import Decision, Landing, Note
from apps.memory.services.landing.reconcile import reconcile_agent
from apps.tasks.models import AgentLease, Attempt, TreeLock
from tests.support.cast import Cast
from tikitaka.landing.blocks import find_blocks
from tikitaka.policy import DEFAULT

DECIDED = {"approved": {"active", "revoked", "expired"}, "rejected": {"rejected"}, "revoked": {"revoked"}}


def check(cast: Cast) -> None:
    """Fails with what does not hold."""
    unfinished = Attempt.objects.filter(status="running")
    assert not unfinished.exists(), list(unfinished.values())
    assert not AgentLease.objects.exists()
    assert not TreeLock.objects.exists()
    _check_files(cast)
    assert all(verify_log(log).valid for log in logs())
    _check_once(cast)
    for decision in Decision.objects.filter(verdict__in=DECIDED).order_by("at").select_related("note"):
        last = decision.note.decisions.order_by("at").last()
        assert last is not None
        assert decision.note.status in DECIDED[last.verdict], (last.verdict, decision.note.status)


def _check_files(cast: Cast) -> None:
    """The blocks on disk are those of the record, and nothing around them has changed."""
    for name, agent in cast.agents.items():
        assert reconcile_agent(agent=agent.pk, policy=DEFAULT) == []
        folder = cast.folder(name)
        files = [*folder.glob("AGENTS.md"), *folder.glob(".agents/skills/*/SKILL.md")]
        lying = Counter(block.note for file in files for block in find_blocks(file.read_text("utf-8")))  # type: ignore[union-attr]
        recorded = Landing.objects.filter(agent=agent, status="landed").values_list("note_id", flat=True)
        assert lying == Counter(recorded), name


def _check_once(cast: Cast) -> None:
    completed = entries(cast.organization.pk, types=("memory.landing.completed",))
    by_landing = Counter(completed.values_list("subject_id", flat=True))
    assert not [key for key, count in by_landing.items() if count > 1]
    for note in Note.objects.filter(status="active"):
        holders = Counter(Landing.objects.filter(note=note, status="landed").values_list("agent_id", flat=True))
        assert set(holders.values()) == {1}
