"""Commands as people call them: evaluate, run_task, sweep, reconcile, serve's lock, the demonstration."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.console.serving import served_here, serving
from tests.support.cast import Cast

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"


class TestEvaluate:
    @pytest.mark.django_db
    def test_metrics_as_one_object_and_one_decision_a_case(self, tmp_path) -> None:
        out, decisions = StringIO(), tmp_path / "decisions.jsonl"
        call_command("evaluate", "replies", CASES / "model_replies.jsonl", decisions=decisions, stdout=out)
        assert json.loads(out.getvalue())["exact_share"] == 1.0
        rows = [json.loads(line) for line in decisions.read_text().splitlines()]
        assert len(rows) == 65
        assert set(rows[0]) == {"id", "result"}

    @pytest.mark.django_db
    @pytest.mark.parametrize(
        ("kind", "file", "keys"),
        [
            ("routing", "routing", {"id", "granted", "fallback", "scores"}),
            ("segments", "segments", {"id", "shifts"}),
            ("extraction", "transcripts", {"id", "picked"}),
        ],
    )
    def test_decisions_have_the_documented_form(self, tmp_path, kind: str, file: str, keys: set[str]) -> None:
        decisions = tmp_path / "decisions.jsonl"
        call_command("evaluate", kind, CASES / f"{file}.jsonl", decisions=decisions, stdout=StringIO())
        assert {frozenset(json.loads(line)) for line in decisions.read_text().splitlines()} == {frozenset(keys)}

    @pytest.mark.django_db
    def test_fit_writes_versioned_coefficients_where_the_product_reads_them(self, tmp_path, settings) -> None:
        settings.BASE_DIR = tmp_path
        (tmp_path / "tikitaka" / "segments").mkdir(parents=True)
        call_command("evaluate", "segments", CASES / "segments.jsonl", fit=True, stdout=StringIO())
        document = json.loads((tmp_path / "tikitaka" / "segments" / "coefficients.json").read_text())
        assert document["model_digest"] == "fake-hashing-128"
        assert {"version", "metrics", "fitted_on"} <= set(document)

    def test_a_file_that_is_no_case_file_is_refused_by_name(self, tmp_path) -> None:
        bad = tmp_path / "bad.jsonl"
        bad.write_text("{}\n")
        with pytest.raises(CommandError, match=r"bad\.jsonl"):
            call_command("evaluate", "routing", bad)
        with pytest.raises(CommandError, match="cannot be read"):
            call_command("evaluate", "routing", tmp_path / "absent")

    def test_replies_are_not_fitted(self) -> None:
        with pytest.raises(CommandError, match="nothing is fitted"):
            call_command("evaluate", "replies", CASES / "model_replies.jsonl", fit=True)


@pytest.mark.django_db(transaction=True)
class TestRunTask:
    def test_runs_with_progress_and_finishes_what_it_started(self, committed_cast: Cast) -> None:
        out, err = StringIO(), StringIO()
        team = str(committed_cast.team.pk)
        call_command("run_task", "do: say hello", team=team, user="operator", json=True, stdout=out, stderr=err)
        assert json.loads(out.getvalue())["status"] == "completed"
        assert "Security" in err.getvalue()

    @pytest.mark.parametrize(
        ("team", "user", "message"),
        [("nowhere", "operator", "no team"), ("Core", "operator", "more than one"), (None, "nobody", "nobody logs in")],
    )
    def test_what_does_not_fit_is_named(self, committed_cast: Cast, team, user: str, message: str) -> None:
        with pytest.raises(CommandError, match=message):
            call_command("run_task", "x", team=team or str(committed_cast.team.pk), user=user)

    def test_who_may_not_is_refused_by_name(self, committed_cast: Cast) -> None:
        with pytest.raises(CommandError, match="forbidden"):
            call_command("run_task", "x", team=str(committed_cast.team.pk), user="auditor")


@pytest.mark.django_db(transaction=True)
def test_sweep_and_reconcile(committed_cast: Cast) -> None:
    out = StringIO()
    call_command("sweep", stdout=out)
    assert json.loads(out.getvalue()) == {}
    call_command("reconcile", stdout=out)
    (committed_cast.folder("backend") / "AGENTS.md").write_text("mine")
    with pytest.raises(CommandError) as error:
        call_command("reconcile", stdout=out)
    assert error.value.returncode == 1
    assert "file_changed" in out.getvalue()


def test_a_folder_is_served_by_one_process(tmp_path) -> None:
    assert not served_here(tmp_path)
    with serving(tmp_path) as free:
        assert free
        assert served_here(tmp_path)
    assert not served_here(tmp_path)


@pytest.mark.encoder
class TestDemo:
    def demo(self, folder: Path) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": "/usr/bin:/bin", "TIKITAKA_DATA": str(folder), "HOME": str(folder.parent)}
        return subprocess.run(
            [sys.executable, "manage.py", "demo", "--json"],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def test_the_0941_story_twice_on_one_folder(self, tmp_path) -> None:
        for _ in range(2):
            done = self.demo(tmp_path / "data")
            assert done.returncode == 0, done.stderr
            (line,) = done.stdout.splitlines()
            told = json.loads(line)
            assert set(told) == {"task", "peak_in_flight", "notes", "landed", "second_task", "ledger"}
            assert told["task"]["status"] == "completed"
            assert told["peak_in_flight"] == 2
            rule = next(note for note in told["notes"] if note["key"] == "api-contract-boundaries")
            granted = [row["agent"] for row in rule["recipients"] if row["verdict"] == "granted"]
            assert granted == ["backend"]
            assert {row["agent"] for row in rule["recipients"]} == {"security", "backend", "frontend", "docs"}
            assert all(row["reason"] for row in rule["recipients"] if row["verdict"] == "withheld")
            assert "Public contract" in told["second_task"]["backend"]["answer"]
            assert told["second_task"]["frontend"]["available"] == []
            assert told["ledger"]["valid"] is True
            assert all(Path(landing["path"]).exists() for landing in told["landed"])

    def test_a_folder_with_other_data_is_not_touched(self, tmp_path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "mine").write_text("x")
        done = self.demo(tmp_path / "data")
        assert done.returncode == 1
        assert (tmp_path / "data" / "mine").read_text() == "x"
