"""Verdicts after the proposal: who took no part or came later, keys that two notes want, what a digest binds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import settings as configured

from apps.conductor.models import Incident
from apps.conductor.pool import embedded_pool
from apps.conductor.story import land
from apps.conductor.sweep import reconcile, sweep
from apps.conductor.teams import change_agent
from apps.ledger.selectors import entries, header
from apps.memory.models import Landing, Note, Recipient
from apps.memory.services.notes import note_digest, seal_digest
from apps.memory.services.recipients import assessed_rows
from apps.memory.services.review import approve, edit, revoke
from tests.support.cast import Cast, add_agent
from tests.support.notes import approved, landed, proposed, verdicts
from tikitaka.errors import Invalid
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db(transaction=True)

LATER = ("withheld", "not_participant")
MENU = "The canteen serves soup on Mondays and nothing else counts."


def moved(cast: Cast, note: Note, *names: str) -> Note:
    wanted = {cast.team.agents.get(name=name).pk for name in names}
    return edit(
        actor=cast.owner,
        note=note,
        shown_digest=note.content_digest,
        policy=configured.TIKITAKA_POLICY,
        recipients=wanted,
    )


def active(cast: Cast, note: Note) -> Note:
    approve(actor=cast.reviewer, note=note, shown_digest=note_digest(note))
    land(note.pk)
    note.refresh_from_db()
    return note


class TestWhoCameLater:
    def test_an_agent_that_took_no_part_can_be_chosen(self, committed_cast: Cast) -> None:
        note = proposed(committed_cast)
        rows = Recipient.objects.filter(note=note, agent=committed_cast.agents["frontend"])
        rows.update(reason="not_participant", placement="", placement_key="")
        seal_digest(note)

        note = active(committed_cast, moved(committed_cast, note, "Frontend"))

        assert note.status == "active", note.landing_fault
        assert verdicts(note)["frontend"] == ("granted", "")

    @pytest.mark.parametrize("severe", [False, True])
    def test_an_agent_registered_later_can_be_chosen(self, committed_cast: Cast, severe: bool) -> None:
        note = proposed(committed_cast, severe=severe)
        add_agent(committed_cast.operator, committed_cast.team, "Docs", "writes the manual")

        note = active(committed_cast, moved(committed_cast, note, "Docs"))

        assert note.status == "active", note.landing_fault
        assert verdicts(note)["docs"] == ("granted", "")
        assert verdicts(note)["backend"] == ("withheld", "narrowed_by_edit")

    def test_it_has_a_verdict_on_every_live_note_at_once(self, committed_cast: Cast) -> None:
        notes = [
            landed(committed_cast),
            proposed(committed_cast, MENU, key="canteen-menu"),
        ]
        docs = add_agent(committed_cast.operator, committed_cast.team, "Docs")

        assert [verdicts(note)["docs"] for note in notes] == [LATER, LATER]
        told = [header(entry) for entry in entries(committed_cast.organization.pk)]
        told = [found for found in told if found["facts"].get("recipient") == str(docs.pk)]
        assert [(found["type"], found["facts"]["reason"]) for found in told] == [
            ("memory.recipient.withheld", "not_participant")
        ] * 2

    def test_it_changes_nothing_that_was_shown(self, committed_cast: Cast) -> None:
        note = proposed(committed_cast)
        add_agent(committed_cast.operator, committed_cast.team, "Docs")

        approve(actor=committed_cast.reviewer, note=note, shown_digest=note.content_digest)
        land(note.pk)

        assert Note.objects.get(pk=note.pk).status == "active"

    def test_a_verdict_that_a_kill_left_out_is_given_by_reconciling(self, committed_cast: Cast) -> None:
        note = landed(committed_cast)
        docs = add_agent(committed_cast.operator, committed_cast.team, "Docs")
        Recipient.objects.filter(note=note, agent=docs).delete()

        reconcile()
        reconcile()

        assert verdicts(note)["docs"] == LATER


class TestTwoNotesWithOneKey:
    def test_the_second_goes_back_when_it_is_about_something_else(self, committed_cast: Cast) -> None:
        first, second = approved(committed_cast), approved(committed_cast, MENU, description="On Mondays")
        rows = [next(row for row in assessed_rows(note) if row.verdict == "granted") for note in (first, second)]
        assert [(row.placement, row.placement_key) for row in rows] == [("new", "upload-limits")] * 2

        land(first.pk)
        land(second.pk)

        second.refresh_from_db()
        assert (second.status, second.landing_fault) == ("pending", "skill_key_collision: Backend")
        assert MENU not in skill_text(committed_cast)

    def test_the_second_joins_when_it_is_about_the_same(self, committed_cast: Cast) -> None:
        first = approved(committed_cast)
        second = approved(committed_cast, "Upload limits are enforced by the gateway and never by any form.")

        for note in (first, second):
            land(note.pk)
            note.refresh_from_db()

        assert [first.status, second.status] == ["active", "active"]
        assert second.content in skill_text(committed_cast)


def sweep_now() -> None:
    with embedded_pool() as pool:
        sweep()
        assert pool.drain(120)


def skill_text(cast: Cast) -> str:
    return (cast.folder("backend") / ".agents" / "skills" / "upload-limits" / "SKILL.md").read_text("utf-8")


def test_an_approval_is_bound_to_how_long_the_note_holds(committed_cast: Cast) -> None:
    note = approved(committed_cast)
    Note.objects.filter(pk=note.pk).update(expires_at=note.expires_at + timedelta(days=365))

    land(note.pk)

    assert Note.objects.get(pk=note.pk).landing_fault == "content_changed"


def test_instructions_cannot_hold_a_marker_of_ours(committed_cast: Cast) -> None:
    note = landed(committed_cast, severe=True)
    marker = f"<!-- memory:{note.pk} -->"

    with pytest.raises(Invalid):
        change_agent(
            actor=committed_cast.operator,
            agent=committed_cast.agents["backend"],
            description="",
            instructions=f"Be kind.\n{marker}\r\nand so on",
        )


def test_a_workspace_that_is_away_keeps_the_removal_waiting(committed_cast: Cast) -> None:
    note = landed(committed_cast)
    folder = committed_cast.folder("backend")
    away = folder.with_name("away")
    folder.rename(away)

    revoke(actor=committed_cast.reviewer, note=note, words="over")
    sweep_now()
    assert Landing.objects.get(note=note).status == "landed"
    assert Incident.objects.filter(kind="drift", detail__contains="no_workspace", closed_at=None).exists()

    away.rename(folder)
    sweep_now()

    assert Landing.objects.get(note=note).status == "removed"
    assert not (folder / ".agents" / "skills" / "upload-limits" / "SKILL.md").exists()


def test_the_policy_may_select_the_plain_cosine(committed_cast: Cast, settings) -> None:
    settings.TIKITAKA_POLICY = replace(DEFAULT, recognition_score="cosine", cosine_threshold_bp=0)

    note = proposed(committed_cast, to=("backend", "frontend", "security"))

    assert note.calibration == "cosine-0"
    assert {row.verdict for row in assessed_rows(note)} == {"granted"}
