"""Screens JSON lines: `{id, text}` in, `{id, text, redacted, quarantined, findings}` out."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any, TextIO

from tikitaka.safety import screen


def run(source: TextIO, results: TextIO, problems: TextIO) -> int:
    """Screens every line of `source`; 1 when a line could not be read, which is reported by its number."""
    damaged = 0
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            row = _row(line)
        except ValueError as problem:
            damaged += 1
            print(f"line {number}: {problem}", file=problems)
            continue
        print(json.dumps(_result(row), ensure_ascii=True), file=results, flush=True)
    return 1 if damaged else 0


def _row(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as broken:
        raise ValueError(f"is not JSON: {broken.msg} at column {broken.colno}") from None
    problem = _problem(row)
    if problem:
        raise ValueError(problem)
    return dict(row)


def _problem(row: object) -> str:
    """What is wrong with the decoded line; nothing when it can be screened."""
    if not isinstance(row, dict):
        return "is not an object"
    if "id" not in row:
        return "has no id"
    return "" if isinstance(row.get("text"), str) else "has no text"


def _result(row: dict[str, Any]) -> dict[str, Any]:
    screening = screen(row["text"])
    return {
        "id": row["id"],
        "text": screening.text,
        "redacted": screening.redacted,
        "quarantined": screening.quarantined,
        "findings": [dataclasses.asdict(finding) for finding in screening.findings],
    }


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    sys.exit(run(sys.stdin, sys.stdout, sys.stderr))
