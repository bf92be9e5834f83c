"""`make audit` is judged without a network: a recorded report, and acceptances that end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from scripts.judge_audit import Acceptance, Unreadable, judge, read_accepted, read_report

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "tests" / "cases" / "audit_report.json"
TODAY = date(2026, 12, 1)


def accepted(name: str, *, until: date = TODAY) -> Acceptance:
    return Acceptance(id=name, reason="we do not call it", until=until)


def judged(*acceptances: Acceptance):
    return judge(read_report(REPORT.read_text(encoding="utf-8")), acceptances, today=TODAY)


class TestFindings:
    def test_each_fails_unless_it_is_accepted(self) -> None:
        verdict = judged()
        assert [line.split(" (")[0] for line in verdict.failures] == [
            "examplepkg 1.0.0: PYSEC-2026-9001 CVE-2026-90001 GHSA-aaaa-bbbb-cccc",
            "examplepkg 1.0.0: GHSA-dddd-eeee-ffff",
            "localpkg: unaudited:localpkg",
        ]
        assert "fixed in 1.0.1, 1.1" in verdict.failures[0]
        assert "not fixed yet" in verdict.failures[1]

    @pytest.mark.parametrize("name", ["PYSEC-2026-9001", "CVE-2026-90001", "GHSA-aaaa-bbbb-cccc"])
    def test_accepted_by_its_id_or_an_alias(self, name: str) -> None:
        verdict = judged(accepted(name))
        assert len(verdict.failures) == 2
        assert "we do not call it" in verdict.remarks[0]

    def test_what_could_not_be_looked_up_is_a_finding_too(self) -> None:
        assert not [line for line in judged(accepted("unaudited:localpkg")).failures if "localpkg" in line]

    def test_on_its_last_day_an_acceptance_holds_and_on_the_next_it_fails(self) -> None:
        assert len(judged(accepted("GHSA-dddd-eeee-ffff", until=TODAY)).failures) == 2
        verdict = judged(accepted("GHSA-dddd-eeee-ffff", until=date(2026, 11, 30)))
        assert len(verdict.failures) == 4
        assert "accepted only until 2026-11-30: GHSA-dddd-eeee-ffff" in verdict.failures[0]

    def test_an_expired_one_fails_also_where_nothing_is_found(self) -> None:
        assert len(judge([], [accepted("CVE-1", until=date(2026, 11, 30))], today=TODAY).failures) == 1

    def test_one_that_is_not_used_is_named_and_does_not_fail(self) -> None:
        verdict = judge([], [accepted("CVE-2020-1")], today=TODAY)
        assert verdict.failures == ()
        assert verdict.remarks == ("accepted and not found, take it out: CVE-2020-1",)


class TestFiles:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[[accepted]]\nid = 'a'\nreason = 'b'", "acceptance 1: it needs exactly"),
            ("[[accepted]]\nid = 'a'\nreason = 'b'\nuntil = 2027-01-01\nnote = 'c'", "acceptance 1: it needs exactly"),
            ("[[accepted]]\nid = 'a'\nreason = ' '\nuntil = 2027-01-01", "texts that say something"),
            ("[[accepted]]\nid = 'a'\nreason = 'b'\nuntil = '2027-01-01'", "until is a date"),
            ("[[accepted]]\nid = 'a'\nreason = 'b'\nuntil = 2027-01-01T00:00:00", "until is a date"),
            ("[[accepted]]\nid = 'a'\nreason = 'b'\nuntil = 2027-01-01\n" * 2, "twice"),
            ("[[acepted]]\nid = 'a'", "only tables"),
            ("accepted = 'a'", "acceptance 1"),
            ("accepted =", "the acceptances"),
        ],
    )
    def test_a_wrong_acceptance_is_named(self, text: str, message: str) -> None:
        with pytest.raises(Unreadable, match=re.escape(message)):
            read_accepted(text)

    @pytest.mark.parametrize(
        "text", ["", "{}", "[]", '{"dependencies": []}', '{"dependencies": [{"name": "a"}]}', '{"dependencies": [1]}']
    )
    def test_a_report_that_says_nothing_is_no_clean_one(self, text: str) -> None:
        with pytest.raises(Unreadable):
            read_report(text)

    def test_our_own_acceptances_can_be_read(self) -> None:
        assert read_accepted((ROOT / "audit-accepted.toml").read_text(encoding="utf-8"))


class TestProgram:
    def run(self, report: Path, acceptances: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "scripts/judge_audit.py", str(report), str(acceptances)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def test_its_exit_code_is_the_verdict(self, tmp_path: Path) -> None:
        clean, none = tmp_path / "clean.json", tmp_path / "none.toml"
        clean.write_text(json.dumps({"dependencies": [{"name": "a", "version": "1", "vulns": []}], "fixes": []}))
        none.write_text("")
        assert self.run(clean, none).returncode == 0
        found = self.run(REPORT, none)
        assert (found.returncode, found.stdout.splitlines()[-1]) == (1, "audit: 3 to mend")
        assert self.run(tmp_path / "absent", none).returncode == 2
        assert self.run(clean, clean).returncode == 2


def test_every_tool_is_pinned_with_its_reason_and_is_not_in_the_products_environment() -> None:
    lines = (ROOT / "requirements-audit.txt").read_text(encoding="utf-8").splitlines()
    tools = [line for line in lines if line and not line.startswith("#")]
    assert tools
    assert all(re.fullmatch(r"[\w-]+==[\d.]+ +# .+", line) for line in tools)
    others = (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-dev.txt").read_text()
    assert not [line for line in tools if line.split("==")[0] in others]
    assert ".venv-audit/" in (ROOT / ".gitignore").read_text().splitlines()
