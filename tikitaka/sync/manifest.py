"""The server's answer, taken as hostile: only governed paths, whole files, bounded, or nothing of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tikitaka.errors import TikiTakaError
from tikitaka.landing.files import INSTRUCTIONS_FILE, skill_file
from tikitaka.text import digest

ANSWER_BYTES_MAX = 32 * 1024 * 1024  # four MiB of text, of which every character may be written as an escape
_FILES_MAX = 501
_CHARACTERS_MAX = 4 * 1024 * 1024
_KINDS = ("instructions", "own_skill", "foreign_skill")
_REPORT_S = (10, 86_400)


class BadAnswer(TikiTakaError):
    """The server's answer is no manifest."""

    code = "bad_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A governed file that is to lie in the folder; `ours` when no person writes in it."""

    path: str
    digest: str
    content: str
    ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is to lie in the folder. What is `kept` is left as it is, whatever that may be."""

    version: str
    report_s: int
    files: tuple[File, ...]
    kept: frozenset[str]


def is_governed(path: object) -> bool:
    """True for the two forms of path that the writer writes."""
    if not isinstance(path, str):
        return False
    if path == INSTRUCTIONS_FILE:
        return True
    parts = path.split("/")
    try:
        return len(parts) == 4 and path == skill_file(parts[2])
    except ValueError:
        return False


def read_manifest(body: bytes) -> Manifest:
    """The manifest in an answer; BadAnswer, with what is wrong, for anything else."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadAnswer("the answer is not JSON") from error
    if not isinstance(answer, dict):
        raise BadAnswer("the answer is not an object")
    listed, refused = answer.get("files"), answer.get("refused")
    if not isinstance(listed, list) or not isinstance(refused, list) or len(listed) + len(refused) > 2 * _FILES_MAX:
        raise BadAnswer("it has no list of files, or too many")
    files = tuple(_file(row) for row in listed)
    kept = [_path(row) for row in refused]
    paths = [*(file.path for file in files), *kept]
    if len(set(paths)) != len(paths):
        raise BadAnswer("a path comes twice")
    if sum(len(file.content) for file in files) > _CHARACTERS_MAX:
        raise BadAnswer("the files are too large")
    return Manifest(
        version=_hex(answer.get("version")),
        report_s=_report_s(answer.get("report_s")),
        files=files,
        kept=frozenset(kept),
    )


def _file(row: Any) -> File:
    path = _path(row)
    content, kind = row.get("content"), row.get("kind")
    if not isinstance(content, str) or kind not in _KINDS:
        raise BadAnswer("a file has no content or is of no known kind")
    found = _hex(row.get("digest"))
    if any("\ud800" <= character <= "\udfff" for character in content) or digest(content) != found:
        raise BadAnswer("a file is not what its digest says")
    return File(path=path, digest=found, content=content, ours=kind != "foreign_skill")


def _path(row: Any) -> str:
    path = row.get("path") if isinstance(row, Mapping) else None
    if not isinstance(path, str) or not is_governed(path):
        raise BadAnswer("a path is none of a governed file")
    return path


def _hex(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        raise BadAnswer("a digest is none")
    return value


def _report_s(value: Any) -> int:
    low, high = _REPORT_S
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadAnswer("it does not say how often to report")
    return min(max(value, low), high)
