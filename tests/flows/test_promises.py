"""The promises of the product, one test or more for each, named after it.

Every one of these was seen to fail with the promise broken on purpose.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction

from apps.conductor import wake as waking
from apps.conductor.pool import embedded_pool
from apps.conductor.story import close_thread, land, plan, submit, wake_removals
from apps.conductor.sweep import sweep
from apps.context.models import ContextSnapshot
from apps.ledger.models import Entry
from apps.ledger.selectors import entries, header, logs, verify_log
from apps.memory.models import Flush, Landing, Note, Recipient
from apps.memory.selectors import access_note
from apps.memory.services.landing.reconcile import available_notes
from apps.memory.services.review import (
    ContentChanged,
    NoteText,
    RecipientsNotAllowed,
    approve,
    edit,
    revoke,
    write_note,
)
from apps.tasks.models import Task
from apps.tasks.selectors import access_task
from apps.teams.selectors import access_team
from tests.support.cast import Cast
from tests.support.notes import RULE, approved, landed, proposed, verdicts
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tests.support.secrets import github_token
from tikitaka.authz import Permission
from tikitaka.errors import NotFound
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


def types_of(cast: Cast) -> list[str]:
    return list(entries(cast.organization.pk).values_list("type", flat=True))


class TestPlacementIsThePermission:
    """1: an agent can load a note only if its file is in that agent's workspace."""

    def test_only_the_recipient_has_a_file(self, committed_cast: Cast) -> None:
        landed(committed_cast, to=["backend"])

        holders = [name for name in committed_cast.agents if RULE in everything(committed_cast.folder(name))]
        assert holders == ["backend"]

    def test_revoking_deletes_the_block_and_everything_derived_from_it(self, committed_cast: Cast) -> None:
        note = landed(committed_cast, to=["backend"], description="When limits matter")

        revoke(actor=committed_cast.reviewer, note=note, words="no longer true")
        with embedded_pool() as pool:
            sweep()
            assert pool.drain(120)

        left = everything(committed_cast.folder("backend"))
        assert RULE not in left
        assert "When limits matter" not in left
        assert available_notes(agent=committed_cast.agents["backend"].pk) == ([], [])

    def test_exactly_one_module_imports_the_writer(self) -> None:
        importing = [
            path.relative_to(ROOT).as_posix()
            for path in [*ROOT.glob("apps/**/*.py"), *ROOT.glob("config/**/*.py"), *ROOT.glob("tikitaka/**/*.py")]
            if "tikitaka.workspace import" in path.read_text(encoding="utf-8")
        ]
        assert importing
        allowed = ("apps/memory/services/landing/", "tikitaka/sync/")  # the second runs on an agent's own machine
        assert all(path.startswith(allowed) for path in importing)


class TestEveryAgentGetsAVerdict:
    """2: granted, or withheld with a named reason; never silent."""

    def test_every_active_agent_has_a_row_with_a_reason(self, committed_cast: Cast) -> None:
        note = landed(committed_cast, to=["backend"])

        found = verdicts(note)
        assert set(found) == set(committed_cast.agents)
        assert found["backend"] == ("granted", "")
        assert all(reason for verdict, reason in found.values() if verdict == "withheld")

    def test_an_agent_that_took_no_part_is_told_apart(self, committed_cast: Cast, settings) -> None:
        note = distilled(committed_cast, settings, {"notes": [extracted(RULE)]})

        assert verdicts(note)["frontend"] == ("withheld", "not_participant")
        assert Recipient.objects.get(note=note, agent=committed_cast.agents["frontend"]).score_bp is None

    def test_an_error_withholds(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_EMBEDDER = "off"

        note = write_note(
            actor=committed_cast.owner,
            team=committed_cast.team,
            text=NoteText(content=RULE, description="uploads", skill_key="uploads"),
            policy=DEFAULT,
        )

        assert set(verdicts(note).values()) == {("withheld", "recognizer_error")}

    def test_an_exception_of_the_recognizer_withholds(self, committed_cast: Cast, monkeypatch) -> None:
        def broken(*args, **options):
            raise RuntimeError("broken recognizer")

        monkeypatch.setattr("apps.memory.services.assess.recognize", broken)
        text = NoteText(content=RULE + " Do not tell Frontend.", description="uploads", skill_key="uploads")
        note = write_note(actor=committed_cast.owner, team=committed_cast.team, text=text, policy=DEFAULT)

        assert verdicts(note) == {
            "security": ("withheld", "recognizer_error"),
            "backend": ("withheld", "recognizer_error"),
            "frontend": ("withheld", "audience_excluded"),
        }

    def test_every_denial_is_in_the_ledger(self, committed_cast: Cast) -> None:
        note = landed(committed_cast, to=["backend"])

        told = {
            (header(entry)["facts"]["recipient"], header(entry)["facts"]["reason"])
            for entry in entries(committed_cast.organization.pk, subject=note.pk, types=("memory.recipient.withheld",))
        }
        rows = Recipient.objects.filter(note=note, verdict="withheld")
        assert {(str(row.agent_id), row.reason) for row in rows} <= told


class TestNoModelChoosesAnIdentifierAPathOrARecipient:
    """3: models speak small integers; the server resolves them."""

    def test_the_planner_is_shown_no_identifier_and_no_path(self, committed_cast: Cast, monkeypatch, settings) -> None:
        asked = []
        model = Recorded(asked, None)
        monkeypatch.setattr("apps.conductor.story.planner", lambda: model)
        task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="Build it").task
        Task.objects.filter(pk=task.pk).update(segment_id=None)
        plan(task.pk)

        (request,) = asked
        text = request.system + request.user
        ids = [
            committed_cast.team.pk,
            committed_cast.organization.pk,
            task.pk,
            *(a.pk for a in committed_cast.agents.values()),
        ]
        assert not any(str(identity) in text or identity.hex in text for identity in ids)
        assert "code/" not in text
        assert str(settings.TIKITAKA_WORKSPACES) not in text

    def test_a_recipient_named_by_the_model_is_ignored(self, committed_cast: Cast, settings) -> None:
        reply = {
            "notes": [
                {
                    "content": RULE,
                    "severity": "normal",
                    "skillKey": "limits",
                    "description": "uploads",
                    "sourceRunIndices": [1],
                    "sourceSpanIndices": [],
                    "rationale": "",
                    "recipients": ["Frontend"],
                    "agentIndex": 3,
                }
            ]
        }
        note = distilled(committed_cast, settings, reply)

        assert verdicts(note)["frontend"] == ("withheld", "not_participant")


class TestABadModelAnswerDegradesItNeverBreaks:
    """4: planning falls back, extraction yields nothing, the task keeps its outcome."""

    @pytest.mark.parametrize(
        "content", ["", "no json", '{"nodes": []}', '{"nodes": [{"agentIndex": 9, "instruction": "x"}]}']
    )
    def test_planning_falls_back(self, committed_cast: Cast, settings, content: str) -> None:
        settings.TIKITAKA_PLANNER = "replay"
        record(settings, "plan", content)
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="Do it").task
            assert pool.drain(120)

        task.refresh_from_db()
        assert (task.status, task.plan_source) == ("completed", "fallback")
        assert task.plan_reasons
        assert task.nodes.count() == 3

    def test_extraction_yields_nothing_and_is_not_called_done(self, committed_cast: Cast, settings) -> None:
        settings.TIKITAKA_EXTRACTOR = "replay"
        record(settings, "extract", "I would rather not")
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1)]).task
            assert pool.drain(120)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)

        task.refresh_from_db()
        row = Flush.objects.get()
        assert task.status == "completed"
        assert not Note.objects.exists()
        assert (row.status, row.reason) == ("failed", "invalid_json")
        assert row.attempts[0]["raw"]["message"]["content"] == "I would rather not"


class TestSafetyFailsClosed:
    """5: an exception quarantines, and nothing is written."""

    def test_an_exception_in_the_rules_quarantines(self, committed_cast: Cast, monkeypatch) -> None:
        def broken(*args, **options):
            raise RuntimeError("broken rule")

        monkeypatch.setattr("tikitaka.safety.gate.redact", broken)
        note = write_note(
            actor=committed_cast.owner,
            team=committed_cast.team,
            text=NoteText(content=RULE, description="uploads", skill_key="uploads"),
            policy=DEFAULT,
        )

        assert note.status == "quarantined"
        assert RULE not in note.content
        assert not Landing.objects.exists()

    def test_redaction_and_quarantine_run_before_review(self, committed_cast: Cast) -> None:
        secret = github_token()
        note = proposed(committed_cast, f"Deploys use {secret} as token.")

        assert secret not in json.dumps([note.content, note.description, note.findings])
        assert "redacted" in note.review_reasons


class TestAPersonsApprovalIsBoundToExactContent:
    """6: what changed must be looked at again; an edit never widens beyond the team."""

    def test_what_changed_must_be_looked_at_again(self, committed_cast: Cast) -> None:
        note = proposed(committed_cast)
        shown = note.content_digest
        changed = edit(
            actor=committed_cast.owner,
            note=note,
            shown_digest=shown,
            policy=DEFAULT,
            text=NoteText(content=RULE + " Always.", description="uploads", skill_key="uploads"),
        )

        with pytest.raises(ContentChanged):
            approve(actor=committed_cast.reviewer, note=changed, shown_digest=shown)
        assert "review.decision.refused" in types_of(committed_cast)

    def test_a_row_that_changed_behind_the_digest_does_not_land(self, committed_cast: Cast) -> None:
        note = approved(committed_cast)
        Note.objects.filter(pk=note.pk).update(content="Something else entirely.")

        land(note.pk)

        note.refresh_from_db()
        assert note.status == "pending"
        assert not Landing.objects.exists()

    def test_an_edit_cannot_widen_beyond_the_team(self, committed_cast: Cast) -> None:
        note = proposed(committed_cast)
        outside = committed_cast.other_team.agents.first().pk

        with pytest.raises(RecipientsNotAllowed, match="outside_group"):
            edit(
                actor=committed_cast.owner,
                note=note,
                shown_digest=note.content_digest,
                policy=DEFAULT,
                recipients={outside},
            )
        assert not Recipient.objects.filter(agent_id=outside).exists()

    def test_the_boundary_is_checked_again_at_activation(self, committed_cast: Cast) -> None:
        from apps.memory.services.notes import seal_digest

        note = approved(committed_cast)
        outside = committed_cast.other_team.agents.first()
        Recipient.objects.create(note=note, agent=outside, verdict="granted", placement="new", placement_key="x-key")
        seal_digest(note)

        land(note.pk)

        note.refresh_from_db()
        assert note.status == "pending"
        assert note.landing_fault == "outside_group"
        assert not Landing.objects.exists()


def test_what_an_agent_is_shown_is_recorded_before_it_starts(committed_cast: Cast) -> None:
    """7: a crash leaves the record of what it was about to see."""

    def dies(launch):
        raise RuntimeError("the runtime died at the start")

    with embedded_pool(runtimes=ScriptedRuntime(dies)) as pool:
        submit(actor=committed_cast.operator, team=committed_cast.team, prompt="Remember this", plan=[node(1)])
        assert pool.drain(120)

    assert [("Remember this" in s.rendered) for s in ContextSnapshot.objects.all()] == [True, True]


def test_deduplicated_is_not_withheld(committed_cast: Cast) -> None:
    """8: what was shown already is bookkeeping of the transcript; no verdict, no denial in the ledger."""
    runtime = ScriptedRuntime(lambda launch: "said")
    with embedded_pool(runtimes=runtime) as pool:
        for _ in range(2):
            submit(actor=committed_cast.operator, team=committed_cast.team, prompt="Talk", plan=[node(1)])
            assert pool.drain(120)

    last = ContextSnapshot.objects.order_by("created_at").last()
    assert last.deduplicated_messages
    assert not Recipient.objects.exists()
    assert "memory.recipient.withheld" not in types_of(committed_cast)
    assert not any("withheld" in field.name for field in ContextSnapshot._meta.get_fields())


def test_one_rule_one_function() -> None:
    """9: runner and memory share the failed-ancestor function; nobody owns a copy."""
    owners = [
        path.relative_to(ROOT).as_posix()
        for path in [*ROOT.glob("apps/**/*.py"), *ROOT.glob("tikitaka/**/*.py")]
        if "def failed_ancestor" in path.read_text(encoding="utf-8")
        or "def blocked(" in path.read_text(encoding="utf-8")
    ]
    assert owners == ["tikitaka/scheduling/graph.py"]


class TestTheDatabaseIsTheQueue:
    """10: losing or doubling a wake-up changes nothing."""

    def test_every_wake_up_lost(self, committed_cast: Cast) -> None:
        """Nobody listens while the task is submitted; only sweeps move it, and it ends as usual."""
        task = submit(
            actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1), node(2, after=(1,))]
        ).task
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            for _ in range(3):
                sweep()
                assert pool.drain(120)
        task.refresh_from_db()
        assert task.status == "completed"

    @pytest.mark.parametrize("job", ["assign", "plan", "dispatch", "settle", "flush", "land", "remove"])
    def test_a_lost_wake_up_is_found_by_a_sweep(self, committed_cast: Cast, settings, job: str) -> None:
        """Every wake-up of one kind is lost outside of sweeps; the story still comes to its end."""
        settings.TIKITAKA_EXTRACTOR = "replay"
        record(settings, "extract", json.dumps({"notes": [extracted(RULE)]}))
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            losing = Losing(pool, job)
            waking.bind(losing)
            task = submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x").task
            losing.sweep()
            task.refresh_from_db()
            assert (task.status, task.segment_id is not None) == ("completed", True)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            losing.sweep()
            note = edit_to_backend(committed_cast, Note.objects.get())
            approve(actor=committed_cast.reviewer, note=note, shown_digest=note.content_digest)
            waking.wake("land", note.pk)
            losing.sweep()
            note.refresh_from_db()
            assert note.status == "active"
            revoke(actor=committed_cast.reviewer, note=note, words="over")
            wake_removals()
            losing.sweep()
        assert list(Landing.objects.values_list("status", flat=True)) == ["removed"]

    def test_every_wake_up_doubled(self, committed_cast: Cast, settings) -> None:
        class Doubling:
            def __init__(self, pool):
                self.pool = pool

            def wake(self, job, subject):
                self.pool.wake(job, subject)
                self.pool.wake(job, subject)

        settings.TIKITAKA_EXTRACTOR = "replay"
        record(settings, "extract", json.dumps({"notes": [extracted(RULE)]}))
        with embedded_pool(runtimes=ScriptedRuntime()) as pool:
            waking.bind(Doubling(pool))
            submit(actor=committed_cast.operator, team=committed_cast.team, prompt="x", plan=[node(1), node(2)])
            assert pool.drain(120)
            close_thread(actor=committed_cast.operator, team=committed_cast.team)
            assert pool.drain(120)

        assert Note.objects.count() == 1
        assert Flush.objects.count() == 1
        assert types_of(committed_cast).count("task.attempt.started") == 2
        assert types_of(committed_cast).count("memory.note.proposed") == 1


class TestTheLedgerOnlyGrows:
    """11: never UPDATE, DELETE or TRUNCATE, by whatever statement."""

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE ledger_entry SET type = 'x'",
            "DELETE FROM ledger_entry",
            "INSERT OR REPLACE INTO ledger_entry SELECT * FROM ledger_entry WHERE seq = 0",
            "DELETE FROM ledger_log",
            "UPDATE ledger_log SET size = 0",
            "UPDATE ledger_log SET tip = 'x'",
        ],
    )
    def test_the_database_refuses(self, committed_cast: Cast, statement: str) -> None:
        if connection.vendor != "sqlite" and "OR REPLACE" in statement:
            statement = "TRUNCATE ledger_entry CASCADE"
        before = list(Entry.objects.values_list("seq", "header"))
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
        assert list(Entry.objects.values_list("seq", "header")) == before

    def test_every_organization_has_its_own_log_and_it_verifies(self, committed_cast: Cast) -> None:
        landed(committed_cast)
        assert all(verify_log(log).valid for log in logs())
        assert logs().count() == 2


class TestNothingCrossesATeamOrAnOrganization:
    """12: another tenant's object answers exactly like one that does not exist."""

    def test_absent_and_foreign_answer_alike(self, committed_cast: Cast) -> None:
        cast = committed_cast
        note = proposed(cast)
        task = submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)]).task
        asked = [
            (access_note, note.pk, Permission.NOTE_VIEW),
            (access_task, task.pk, Permission.ORGANIZATION_VIEW),
            (access_team, cast.team.pk, Permission.ORGANIZATION_VIEW),
        ]
        for access, identity, permission in asked:
            with pytest.raises(NotFound) as foreign:
                access(cast.stranger, identity, permission)
            with pytest.raises(NotFound) as absent:
                access(cast.stranger, uuid.uuid4(), permission)
            assert (foreign.value.code, foreign.value.detail) == (absent.value.code, absent.value.detail)
            assert access(cast.owner, identity, permission).pk == identity

    def test_two_teams_with_an_agent_of_one_name_share_nothing(self, committed_cast: Cast) -> None:
        from apps.teams.selectors import workspace_folder, workspace_of

        landed(committed_cast, to=["backend"])
        twin = committed_cast.other_team.agents.get(name="Backend")
        assert RULE not in everything(workspace_folder(workspace_of(twin.pk)))
        assert not entries(committed_cast.other.pk, types=("memory.note.proposed",)).exists()


def test_we_say_what_we_cannot_prove(committed_cast: Cast) -> None:
    """13: available means that the very block lies in the file now, and nothing more is claimed."""
    note = landed(committed_cast, to=["backend"])
    agent = committed_cast.agents["backend"].pk
    assert available_notes(agent=agent)[0] == [note.pk]

    file = committed_cast.folder("backend") / Landing.objects.get().file
    file.write_text(file.read_text().replace("never", "sometimes"))

    available, drifted = available_notes(agent=agent)
    assert available == []
    assert drifted[0].fault == "block_changed"
    memory = [kind for kind in types_of(committed_cast) if kind.startswith("memory.")]
    assert not any("opened" in kind or "delivered" in kind for kind in memory)


class Losing:
    """A binding that loses every wake-up of one job, except while a sweep makes up for it."""

    def __init__(self, pool, job: str) -> None:
        self._pool, self._job, self._sweeping = pool, job, False

    def wake(self, job, subject) -> None:
        if job != self._job or self._sweeping:
            self._pool.wake(job, subject)

    def sweep(self) -> None:
        assert self._pool.drain(120)
        self._sweeping = True
        for _ in range(2):
            sweep()
            assert self._pool.drain(120)
        self._sweeping = False


def edit_to_backend(cast: Cast, note: Note) -> Note:
    backend = {cast.agents["backend"].pk}
    return edit(actor=cast.owner, note=note, shown_digest=note.content_digest, policy=DEFAULT, recipients=backend)


def everything(folder: Path) -> str:
    """All text that an agent can read in its workspace."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)


def extracted(content: str, **fields) -> dict:
    return {
        "content": content,
        "severity": "normal",
        "skillKey": "limits",
        "description": "uploads",
        "sourceRunIndices": [1],
        "sourceSpanIndices": [],
        "rationale": "",
        **fields,
    }


def record(settings, purpose: str, content: str, *, when: str = "", **more) -> None:
    reply = {"status": 200, "finish_reason": "stop", "message": {"role": "assistant", "content": content}, **more}
    number = len(list(settings.TIKITAKA_REPLAY.glob("*"))) + 1
    path = settings.TIKITAKA_REPLAY / f"{purpose}-{number}.json"
    path.write_text(json.dumps({"when": when, "reply": reply}))


def distilled(cast: Cast, settings, reply: dict) -> Note:
    settings.TIKITAKA_EXTRACTOR = "replay"
    record(settings, "extract", json.dumps(reply))
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(2)])
        assert pool.drain(120)
        close_thread(actor=cast.operator, team=cast.team)
        assert pool.drain(120)
    return Note.objects.get()


class Recorded:
    """A model that keeps what it was asked."""

    name = priced_as = "recorded"

    def __init__(self, asked: list, body) -> None:
        self._asked, self._body = asked, body

    def complete(self, request):
        from tikitaka.ports import ModelReply

        self._asked.append(request)
        return ModelReply(body=self._body, failure="http_error", provider="recorded")
