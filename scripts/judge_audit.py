"""Judges a report of pip-audit by the findings that are accepted until a date.

usage: judge_audit.py REPORT.json ACCEPTED.toml; exit code 0 when nothing is left, 1 for findings, 2 when unreadable.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

_FIELDS = {"id", "reason", "until"}


class Unreadable(Exception):
    """A file is not of the form that is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One known fault of a package, or a package that could not be looked up: then nothing is known about it."""

    package: str
    ids: tuple[str, ...]
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Up to and including `until`, a finding of that id does not fail."""

    id: str
    reason: str
    until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`failures` and `remarks` are lines for a person."""

    failures: tuple[str, ...]
    remarks: tuple[str, ...]


def read_report(text: str) -> list[Finding]:
    """The findings of a report; raises Unreadable."""
    try:
        rows = json.loads(text)["dependencies"]
        if not rows:
            raise Unreadable("the report: it holds no package at all")
        return [finding for row in rows for finding in _findings(row)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable("the report: not of the form that pip-audit writes") from error


def _findings(row: dict[str, Any]) -> Iterator[Finding]:
    if "skip_reason" in row:
        yield Finding(package=row["name"], ids=(f"unaudited:{row['name']}",), detail=row["skip_reason"])
        return
    for fault in row["vulns"]:
        fixed = ", ".join(fault["fix_versions"])
        yield Finding(
            package=f"{row['name']} {row['version']}",
            ids=(fault["id"], *fault.get("aliases", ())),
            detail=f"fixed in {fixed}" if fixed else "not fixed yet",
        )


def read_accepted(text: str) -> list[Acceptance]:
    """The acceptances of a file; raises Unreadable that names the one that is wrong."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"the acceptances: {error}") from error
    if not document.keys() <= {"accepted"}:
        raise Unreadable("the acceptances: only tables [[accepted]] are known")
    rows = document.get("accepted", [])
    accepted = [_acceptance(number, row) for number, row in enumerate(rows, start=1)]
    ids = [item.id for item in accepted]
    if len(set(ids)) < len(ids):
        raise Unreadable("the acceptances: an id stands there twice")
    return accepted


def _acceptance(number: int, row: Any) -> Acceptance:
    if not isinstance(row, dict) or row.keys() != _FIELDS:
        raise Unreadable(f"acceptance {number}: it needs exactly {', '.join(sorted(_FIELDS))}")
    texts = (row["id"], row["reason"])
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise Unreadable(f"acceptance {number}: id and reason are texts that say something")
    if not isinstance(row["until"], date) or isinstance(row["until"], datetime):
        raise Unreadable(f"acceptance {number}: until is a date, written 2027-01-31")
    return Acceptance(id=row["id"], reason=row["reason"], until=row["until"])


def judge(findings: Sequence[Finding], accepted: Sequence[Acceptance], *, today: date) -> Verdict:
    """Whatever is not accepted fails, and so does an acceptance whose date is over, used or not."""
    valid = {item.id: item for item in accepted if item.until >= today}
    failures = [
        f"accepted only until {item.until}: {item.id} ({item.reason})" for item in accepted if item.until < today
    ]
    remarks, used = [], set()
    for finding in findings:
        by = [valid[name] for name in finding.ids if name in valid]
        used |= {item.id for item in by}
        line = f"{finding.package}: {' '.join(finding.ids)} ({finding.detail})"
        if by:
            remarks.append(f"accepted until {by[0].until}: {line}: {by[0].reason}")
        else:
            failures.append(line)
    remarks += [f"accepted and not found, take it out: {name}" for name in valid if name not in used]
    return Verdict(failures=tuple(failures), remarks=tuple(remarks))


def main(arguments: Sequence[str]) -> int:
    report, acceptances = (Path(name) for name in arguments)
    try:
        findings = read_report(report.read_text(encoding="utf-8"))
        accepted = read_accepted(acceptances.read_text(encoding="utf-8"))
    except (Unreadable, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"audit: {error}\n")
        return 2
    verdict = judge(findings, accepted, today=datetime.now(UTC).date())
    for line in (*verdict.remarks, *verdict.failures):
        sys.stdout.write(f"audit: {line}\n")
    sys.stdout.write(f"audit: {len(verdict.failures)} to mend\n")
    return 1 if verdict.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
