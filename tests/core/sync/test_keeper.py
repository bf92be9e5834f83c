"""The loop: what is said when, how it goes on after a fault, how it ends; and how the program is called."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.core.sync.test_folder import AGENT, INSTRUCTIONS, SKILL, manifest, to
from tikitaka.authz.tokens import Credential
from tikitaka.errors import TikiTakaError
from tikitaka.landing.blocks import render_block
from tikitaka.sync import keeper as module
from tikitaka.sync.__main__ import _end, main
from tikitaka.sync.folder import Held
from tikitaka.sync.keeper import Keeper, keep
from tikitaka.sync.manifest import BadAnswer, Manifest
from tikitaka.sync.server import Refused, Unanswered
from tikitaka.text import digest

ROOT = Path(__file__).resolve().parents[3]
TOKEN = str(Credential("0" * 12, "A" * 43))


class Scripted:
    """A server that gives one answer after the other, and ends with a refusal."""

    def __init__(self, *answers: Manifest | TikiTakaError | None) -> None:
        self.answers = list(answers)
        self.waits: list[int] = []
        self.reports: list[dict[str, Held]] = []

    def fetch(self, *, known: str, wait_s: int) -> Manifest | None:
        self.waits.append(wait_s)
        answer = self.answers.pop(0) if self.answers else Refused("the end")
        if isinstance(answer, TikiTakaError):
            raise answer
        return answer

    def report(self, version: str, held: Mapping[str, Held]) -> list[str]:
        self.reports.append(dict(held))
        return [path for path, what in held.items() if what.fault]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "machine" / "workspace"
    found.mkdir(parents=True)
    return found


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.time, "sleep", lambda _: None)


def run(
    folder: Path, *answers: Manifest | TikiTakaError | None, once: bool = False
) -> tuple[int, Scripted, list[float]]:
    server, pauses = Scripted(*answers), []
    code = keep(Keeper(server, folder, AGENT), once=once, sleep=pauses.append)
    return code, server, pauses


def test_once_is_done_when_it_is_said(folder: Path) -> None:
    code, server, pauses = run(folder, manifest(instructions="one"), once=True)
    assert (code, pauses, server.waits) == (0, [], [0])
    assert server.reports == [{INSTRUCTIONS: Held(digest=digest("one"))}]


def test_what_did_not_change_is_not_said_again_before_its_time(folder: Path) -> None:
    given = manifest(instructions="one")
    _, server, _ = run(folder, given, None, None, given)
    assert len(server.reports) == 1
    assert server.waits == [0, 25, 25, 25, 25]


def test_it_is_said_again_after_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 10_000, 100))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(now)))
    _, server, _ = run(folder, manifest(instructions="one"), None, None, None)
    assert len(server.reports) >= 2


def test_a_change_there_is_said_before_it_is_undone(folder: Path) -> None:
    to(folder, instructions="one")
    (folder / INSTRUCTIONS).write_text("changed")
    _, server, _ = run(folder, manifest(instructions="one"))
    assert [report[INSTRUCTIONS].digest for report in server.reports] == [digest("changed"), digest("one")]


def test_it_is_seen_while_nothing_comes_from_the_server(folder: Path) -> None:
    server = Scripted(manifest(instructions="one"), None)
    fetch = server.fetch

    def spoiled(*, known: str, wait_s: int) -> Manifest | None:
        if known:
            (folder / INSTRUCTIONS).write_text("changed")
        return fetch(known=known, wait_s=wait_s)

    server.fetch = spoiled  # type: ignore[method-assign]
    keep(Keeper(server, folder, AGENT), once=False)
    assert [report[INSTRUCTIONS].digest for report in server.reports] == [digest(t) for t in ("one", "changed", "one")]


def test_it_goes_on_more_slowly_while_something_is_wrong(folder: Path) -> None:
    problems = [Unanswered("no answer: x"), BadAnswer("x"), Unanswered("y", 40), *[Unanswered("z")] * 6]
    code, server, pauses = run(folder, *problems, manifest(instructions="one"), Unanswered("later"))
    assert code == 1
    assert (folder / INSTRUCTIONS).read_text() == "one"
    assert 1 <= pauses[0] <= 2
    assert 2 <= pauses[1] <= 4
    assert pauses[2] == 40, "what the server asks for, when that is longer"
    assert all(30 <= pause <= 60 for pause in pauses[6:9])
    assert pauses[9] <= 2, "it begins anew"
    assert len(server.reports) == 1


def test_once_it_tries_three_times(folder: Path) -> None:
    code, server, pauses = run(folder, *[Unanswered("x")] * 9, once=True)
    assert (code, len(server.waits), len(pauses)) == (1, 3, 2)
    assert run(folder, Unanswered("x"), manifest(instructions="one"), once=True)[0] == 0


def test_once_a_folder_that_is_not_as_it_should_be_is_no_success(folder: Path) -> None:
    (folder / INSTRUCTIONS).write_text("a person's")
    assert run(folder, manifest(instructions="one"), once=True)[0] == 1


def test_a_refusal_ends_it_and_touches_nothing(folder: Path) -> None:
    to(folder, instructions="one")
    assert run(folder, Refused("status 401"))[0] == 1
    assert (folder / INSTRUCTIONS).read_text() == "one"


def test_the_folder_of_another_agent_ends_it(folder: Path) -> None:
    to(folder, instructions="one", agent=uuid4())
    assert run(folder, manifest(instructions="two"))[0] == 2
    assert (folder / INSTRUCTIONS).read_text() == "one"


def test_a_folder_that_is_away_may_come_back(folder: Path) -> None:
    folder.rmdir()
    code, server, pauses = run(folder, manifest(instructions="one"), None)
    assert (code, len(pauses), server.reports) == (1, 2, [])


def test_nothing_changed_without_having_anything_is_no_answer(folder: Path) -> None:
    assert run(folder, None, once=True)[0] == 1


def test_what_the_server_finds_wrong_and_what_went_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = manifest(instructions="one", skill=render_block(uuid4(), "words"))
    (folder / "AGENTS.override.md").write_text("mine")
    _, server, _ = run(folder, given, dataclasses.replace(given, files=given.files[:1]))
    said = capsys.readouterr().err
    assert f"{INSTRUCTIONS} is not as it should be" in said
    assert f"left {INSTRUCTIONS}: override_file" in said
    assert f"removed {SKILL}" in said
    assert set(server.reports[-1]) == {INSTRUCTIONS}


def test_only_what_the_manifest_gives_is_said(folder: Path, tmp_path: Path) -> None:
    given = manifest(instructions="one", skill=render_block(uuid4(), "words"))
    to(folder, instructions="one", skill=given.files[1].content)
    (folder / SKILL).unlink()
    (folder / SKILL).symlink_to(tmp_path / "outside")
    code, server, _ = run(folder, dataclasses.replace(given, files=given.files[:1]), once=True)
    assert code == 1, "what could not be removed is no success"
    assert set(server.reports[-1]) == {INSTRUCTIONS}


def test_it_ends_when_it_is_told_to() -> None:
    with pytest.raises(SystemExit) as end:
        _end(15, None)
    assert end.value.code == 0


def test_no_text_and_no_token_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, manifest(instructions="words of a note"))
    said = capsys.readouterr()
    assert f"wrote {INSTRUCTIONS}" in said.err
    assert "words of a note" not in said.err
    assert said.out == ""


class TestCalling:
    @pytest.fixture
    def good(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
        monkeypatch.setenv("TIKITAKA_TOKEN", TOKEN)
        monkeypatch.setattr("tikitaka.sync.__main__.keep", lambda *_, **__: 0)
        monkeypatch.setattr("tikitaka.sync.__main__.signal.signal", lambda *_: None)
        return {"--server": "https://tikitaka.example", "--agent": str(UUID(int=7)), "--folder": str(folder)}

    def call(self, options: Mapping[str, str], *more: str) -> int:
        try:
            return main([part for pair in options.items() for part in pair] + list(more))
        except SystemExit as end:
            return int(str(end.code))

    def test_well(self, good: dict[str, str]) -> None:
        assert self.call(good) == self.call(good, "--once") == 0
        for loopback in ("http://127.0.0.1:8000", "http://localhost", "http://[::1]:80/prefix"):
            assert self.call({**good, "--server": loopback}) == 0
        assert self.call({**good, "--server": "http://tikitaka.example"}, "--plain-http") == 0

    @pytest.mark.parametrize(
        "server",
        ["", "tikitaka.example", "ftp://x", "file:///etc", "http://tikitaka.example", "https://", "https://a:b@c",
         "https://x?y", "https://x#y", "https://x:port", "https://[x"],
    )  # fmt: skip
    def test_with_a_wrong_server(self, good: dict[str, str], server: str) -> None:
        assert self.call({**good, "--server": server}) == 2

    @pytest.mark.parametrize("token", ["", "tk_", "x" * 60, TOKEN + "\nX: y"])
    def test_without_a_token(self, good: dict[str, str], token: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TIKITAKA_TOKEN", token)
        assert self.call(good) == 2

    def test_with_a_wrong_agent_or_folder(self, good: dict[str, str], folder: Path) -> None:
        link = folder.with_name("link")
        link.symlink_to(folder)
        (folder / "file").write_text("x")
        for wrong in ({"--agent": "x"}, *({"--folder": str(p)} for p in (folder / "none", folder / "file", link))):
            assert self.call({**good, **wrong}) == 2
        assert self.call({}) == 2


def test_neither_django_nor_an_app_is_imported() -> None:
    program = "import tikitaka.sync.__main__, sys; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    roots = {name.split(".")[0] for name in done.stdout.split()}
    assert "tikitaka" in roots
    assert not roots & {"django", "apps", "config", "rest_framework", "torch", "httpx2", "httpx"}
