"""The server's answer is hostile: what is not wholly a manifest of governed files is none."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any
from uuid import uuid4

import pytest

from tikitaka.sync import manifest as module
from tikitaka.sync.manifest import BadAnswer, is_governed, read_manifest
from tikitaka.workspace import FileFault, WorkspaceFault, open_workspace

HOSTILE = [
    "",
    ".",
    "..",
    "/AGENTS.md",
    "./AGENTS.md",
    "../AGENTS.md",
    "AGENTS.md/",
    "AGENTS.md\n",
    "AGENTS.md\x00",
    "agents.md",
    "AGENTS.override.md",
    ".git/config",
    ".git/hooks/post-checkout",
    "code/AGENTS.md",
    ".agents/skills/../SKILL.md",
    ".agents/skills/../../.ssh/SKILL.md",
    ".agents/skills/key/../SKILL.md",
    ".agents/skills/a/SKILL.md",
    ".agents/skills/Key/SKILL.md",
    ".agents/skills/.git/SKILL.md",
    ".agents/skills/some-key/skill.md",
    ".agents/skills/some-key/SKILL.md/x",
    ".agents/skills/some-key\n/SKILL.md",
    ".agents/skills//SKILL.md",
    ".agents//skills/some-key/SKILL.md",
    "/.agents/skills/some-key/SKILL.md",
    ".agents\\skills\\some-key\\SKILL.md",
    ".claude/skills/some-key/SKILL.md",
    "~/.bashrc",
    "/etc/passwd",
]


def row(path: str = "AGENTS.md", content: str = "text", kind: str = "instructions") -> dict[str, Any]:
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return {"path": path, "content": content, "digest": digest, "kind": kind}


def answer(*files: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": "a" * 64, "report_s": 300, "files": list(files), "refused": [], **more}


def read(found: Any) -> module.Manifest:
    return read_manifest(json.dumps(found).encode())


def test_a_good_one_is_read() -> None:
    skill = ".agents/skills/some-key/SKILL.md"
    kept = ".agents/skills/another-key/SKILL.md"
    refused = [{"path": kept, "reason": "file_changed"}]
    found = read(answer(row(), row(skill, "ünï", "own_skill"), refused=refused, later="is not looked at"))
    assert [(file.path, file.content, file.ours) for file in found.files] == [
        ("AGENTS.md", "text", True),
        (skill, "ünï", True),
    ]
    assert (found.version, found.report_s, found.kept) == ("a" * 64, 300, frozenset({kept}))
    assert read(answer(row(skill, kind="foreign_skill"))).files[0].ours is False


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_of_another_form_is_refused_here_and_by_the_writer(path: str, tmp_path: Any) -> None:
    assert not is_governed(path)
    for listed in (answer(row(path)), answer(refused=[{"path": path, "reason": "x"}])):
        with pytest.raises(BadAnswer):
            read(listed)
    folder = tmp_path / "workspace"
    folder.mkdir()
    with open_workspace(folder) as workspace, pytest.raises((WorkspaceFault, ValueError)) as refused:
        workspace.write(path, "x", expected=None)
    assert isinstance(refused.value, ValueError) or refused.value.reason is FileFault.NOT_GOVERNED
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("path", [None, 1, ["AGENTS.md"], {"x": 1}])
def test_so_is_what_is_no_path(path: Any) -> None:
    assert not is_governed(path)
    with pytest.raises(BadAnswer):
        read(answer({**row(), "path": path}))


def spoiled() -> list[Any]:
    good = answer(row())
    found: list[Any] = [None, [], "x", 1, {}]
    for name in good:
        found.append({key: value for key, value in good.items() if key != name})
        found.extend({**good, name: wrong} for wrong in (None, -0.5, True, {"a": 1}, "x"))
    for name in good["files"][0]:
        for wrong in (None, 1, ["x"], "x" * 64, "A" * 64):
            worse = copy.deepcopy(good)
            worse["files"][0][name] = wrong
            found.append(worse)
    return [*found, answer("x"), answer(None), answer(row(), row()), answer(row(content="\ud800"))]  # type: ignore[arg-type]


@pytest.mark.parametrize("found", spoiled())
def test_anything_else_is_refused_whole(found: Any) -> None:
    with pytest.raises(BadAnswer):
        read(found)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"<html>"])
def test_so_is_what_is_no_json(body: bytes) -> None:
    with pytest.raises(BadAnswer):
        read_manifest(body)


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadAnswer, match="too many"):
        read(answer(*[row(f".agents/skills/key-{n}/SKILL.md", kind="own_skill") for n in range(1_100)]))
    monkeypatch.setattr(module, "_CHARACTERS_MAX", 3)
    with pytest.raises(BadAnswer, match="too large"):
        read(answer(row()))


@pytest.mark.parametrize(("said", "taken"), [(0, 10), (-5, 10), (300, 300), (10**12, 86_400)])
def test_how_often_to_report_is_within_reason(said: int, taken: int) -> None:
    assert read(answer(report_s=said)).report_s == taken


def test_a_path_listed_and_refused_is_twice() -> None:
    with pytest.raises(BadAnswer, match="twice"):
        read(answer(row(), refused=[{"path": "AGENTS.md", "reason": str(uuid4())}]))
