"""A folder is brought to a manifest: through the writer, and nothing is touched that we did not write."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tikitaka.landing.blocks import render_block
from tikitaka.sync import folder as module
from tikitaka.sync.folder import Held, Outcome, aside_folder, bring
from tikitaka.sync.manifest import File, Manifest
from tikitaka.sync.state import State, StateFault, WrongFolder, load, save, state_file
from tikitaka.text import digest
from tikitaka.workspace import FileFault, Workspace, WorkspaceFault

AGENT = UUID(int=7)
INSTRUCTIONS = "AGENTS.md"
SKILL = ".agents/skills/some-key/SKILL.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "machine" / "workspace"
    found.mkdir(parents=True)
    return found


def manifest(*, kept: tuple[str, ...] = (), ours: bool = True, **files: str) -> Manifest:
    paths = {"instructions": INSTRUCTIONS, "skill": SKILL}
    listed = [
        File(path=paths[name], digest=digest(text), content=text, ours=ours or name == "instructions")
        for name, text in files.items()
    ]
    return Manifest(version="a" * 64, report_s=300, files=tuple(listed), kept=frozenset(kept))


def to(folder: Path, *, replace: bool = True, agent: UUID = AGENT, **how) -> Outcome:
    return bring(folder, agent, manifest(**how), replace=replace)


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder.parent).as_posix(): path.read_bytes()
        for path in sorted(folder.parent.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


class TestWriting:
    def test_what_is_given_lies_there(self, folder: Path) -> None:
        outcome = to(folder, instructions="one\r\n", skill="two ünï")
        assert (folder / INSTRUCTIONS).read_bytes() == b"one\r\n"
        assert (folder / SKILL).read_text() == "two ünï"
        assert outcome.held == {
            path: Held(digest=digest((folder / path).read_bytes().decode())) for path in outcome.held
        }
        assert set(outcome.held) == {INSTRUCTIONS, SKILL}
        assert (outcome.faults, outcome.changed) == ({}, False)

    def test_a_second_time_nothing_is_written(self, folder: Path) -> None:
        to(folder, instructions="one", skill="two")
        before = {path: (folder / path).stat() for path in (INSTRUCTIONS, SKILL)}
        assert to(folder, instructions="one", skill="two").written == []
        assert {path: (folder / path).stat() for path in before} == before

    def test_what_left_the_manifest_goes_and_its_folder_with_it(self, folder: Path) -> None:
        to(folder, instructions="one", skill="two")
        assert to(folder, instructions="one").removed == [SKILL]
        assert not (folder / SKILL).parent.exists()
        assert load(folder, AGENT).written == {INSTRUCTIONS: [digest("one")]}

    def test_what_the_server_does_not_give_out_now_is_kept(self, folder: Path) -> None:
        to(folder, instructions="one", skill="two")
        outcome = to(folder, instructions="one", kept=(SKILL,))
        assert outcome.removed == []
        assert (folder / SKILL).read_text() == "two"

    def test_leftovers_of_a_writer_that_was_killed_go(self, folder: Path) -> None:
        to(folder, instructions="one", skill="two")
        for place in (folder, (folder / SKILL).parent):
            (place / ".tikitaka-0123").write_text("half")
        left = state_file(folder).with_name(state_file(folder).name + ".0123")
        left.write_text("half")
        to(folder, instructions="three", skill="two")
        assert not [name for name in everything(folder) if "0123" in name]


class TestWhatIsNotOurs:
    def test_a_file_that_lay_there_before_us_is_left_and_told_as_it_is(self, folder: Path) -> None:
        (folder / INSTRUCTIONS).write_text("a person's")
        for _ in range(2):
            outcome = to(folder, instructions="ours")
            assert (folder / INSTRUCTIONS).read_text() == "a person's"
            assert outcome.held == {INSTRUCTIONS: Held(digest=digest("a person's"))}
            assert outcome.faults == {INSTRUCTIONS: "not_ours"}
        assert to(folder).removed == []
        assert (folder / INSTRUCTIONS).read_text() == "a person's"

    def test_one_that_says_the_very_same_is_ours_from_then_on(self, folder: Path) -> None:
        (folder / INSTRUCTIONS).write_text("ours")
        assert to(folder, instructions="ours").written == []
        assert to(folder).removed == [INSTRUCTIONS]

    def test_a_file_of_ours_that_was_changed_is_told_and_then_replaced(self, folder: Path) -> None:
        to(folder, instructions="ours")
        (folder / INSTRUCTIONS).write_text("changed")

        seen = to(folder, instructions="ours", replace=False)
        assert (seen.changed, seen.held) == (True, {INSTRUCTIONS: Held(digest=digest("changed"))})
        assert (folder / INSTRUCTIONS).read_text() == "changed"

        mended = to(folder, instructions="ours")
        assert (mended.changed, mended.written) == (False, [INSTRUCTIONS])
        assert (folder / INSTRUCTIONS).read_text() == "ours"
        (copy,) = aside_folder(folder).iterdir()
        assert copy.read_text() == "changed", "nobody's work is lost"

    def test_a_changed_file_that_left_the_manifest_goes_too_and_our_blocks_are_not_kept(self, folder: Path) -> None:
        block = render_block(uuid4(), "what was revoked")
        to(folder, skill="head\n" + block)
        (folder / SKILL).write_text("head\n" + block + "a person's line\n")
        assert to(folder, replace=False).changed
        assert (folder / SKILL).exists()

        assert to(folder).removed == [SKILL]

        assert not (folder / SKILL).exists()
        (copy,) = aside_folder(folder).iterdir()
        assert "a person's line" in copy.read_text()
        assert "what was revoked" not in copy.read_text()

    def test_a_persons_skill_with_our_blocks_is_not_replaced_when_they_change_it(self, folder: Path) -> None:
        to(folder, skill="theirs and ours", ours=False)
        (folder / SKILL).write_text("theirs changed")
        outcome = to(folder, skill="theirs and ours, later", ours=False)
        assert (folder / SKILL).read_text() == "theirs changed"
        assert outcome.held == {SKILL: Held(digest=digest("theirs changed"))}
        (folder / SKILL).write_text("theirs and ours")
        assert to(folder, skill="theirs and ours, later", ours=False).written == [SKILL]

    def test_other_files_and_skills_are_never_touched(self, folder: Path) -> None:
        mine = folder / ".agents" / "skills" / "of-mine" / "SKILL.md"
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        (folder / "notes.txt").write_text("mine")
        to(folder, instructions="one", skill="two")
        to(folder)
        assert mine.read_text() == (folder / "notes.txt").read_text() == "mine"

    def test_what_is_set_aside_is_bounded(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_ASIDE_MAX", 2)
        to(folder, instructions="ours")
        for number in range(4):
            (folder / INSTRUCTIONS).write_text(f"changed {number}")
            to(folder, instructions="ours")
        assert len(list(aside_folder(folder).iterdir())) == 2
        assert (folder / INSTRUCTIONS).read_text() == "ours"

    def test_damaged_markers_are_set_aside_as_they_are(self, folder: Path) -> None:
        block = render_block(uuid4(), "words")
        to(folder, skill=block)
        (folder / SKILL).write_text(block + block)
        to(folder)
        (copy,) = aside_folder(folder).iterdir()
        assert copy.read_text() == block + block

    def test_a_file_of_ours_that_somebody_removed_is_forgotten_or_written_again(self, folder: Path) -> None:
        to(folder, instructions="one", skill=render_block(uuid4(), "words"))
        (folder / SKILL).unlink()
        (folder / INSTRUCTIONS).unlink()
        outcome = to(folder, instructions="one")
        assert (outcome.written, outcome.removed) == ([INSTRUCTIONS], [])
        assert set(load(folder, AGENT).written) == {INSTRUCTIONS}

    def test_what_cannot_be_set_aside_is_not_replaced(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        to(folder, instructions="one")
        (folder / INSTRUCTIONS).write_text("changed")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(module, "_write_copy", full)
        with pytest.raises(StateFault, match="No space"):
            to(folder, instructions="two")
        assert (folder / INSTRUCTIONS).read_text() == "changed"


class TestHostileState:
    """Whoever can write the state may make us forget, never remove something else."""

    def forge(self, folder: Path, written: object, agent: UUID = AGENT) -> None:
        state_file(folder).write_text(json.dumps({"agent": str(agent), "written": written}))

    @pytest.mark.parametrize(
        "path", ["../victim", "victim", "/etc/passwd", ".git/config", ".agents/skills/../x/SKILL.md"]
    )
    def test_a_path_of_another_form_is_not_read(self, folder: Path, path: str) -> None:
        for victim in (folder / "victim", folder.parent / "victim"):
            victim.write_text("victim")
        self.forge(folder, {path: [digest("victim")]})
        to(folder, instructions="one")
        assert (folder / "victim").exists()
        assert (folder.parent / "victim").exists()
        assert set(load(folder, AGENT).written) == {INSTRUCTIONS}

    @pytest.mark.parametrize("said", ["0" * 64, digest("a person's")], ids=["another digest", "its digest"])
    def test_a_skill_of_a_person_under_a_governed_name_is_moved_out_and_not_lost(self, folder: Path, said: str) -> None:
        (folder / SKILL).parent.mkdir(parents=True)
        (folder / SKILL).write_text("a person's")
        self.forge(folder, {SKILL: [said]})
        to(folder)
        (copy,) = aside_folder(folder).iterdir()
        assert copy.read_text() == "a person's"

    @pytest.mark.parametrize("text", ["", "{", "[]", "[" * 50_000, '{"agent": 1, "written": {}}', "\x00"])
    def test_one_that_cannot_be_read_stops_us(self, folder: Path, text: str) -> None:
        state_file(folder).write_text(text)
        with pytest.raises(StateFault):
            to(folder, instructions="one")
        assert not (folder / INSTRUCTIONS).exists()

    @pytest.mark.parametrize("written", [[], None, {SKILL: "x"}, {SKILL: [1]}, {SKILL: None}])
    def test_so_does_one_of_another_form(self, folder: Path, written: object) -> None:
        self.forge(folder, written)
        with pytest.raises(StateFault):
            to(folder, instructions="one")

    def test_of_another_agent_is_a_wrong_folder(self, folder: Path) -> None:
        to(folder, instructions="one")
        with pytest.raises(WrongFolder):
            to(folder, agent=uuid4())
        assert (folder / INSTRUCTIONS).read_text() == "one"

    def test_a_link_in_its_place_is_not_followed(self, folder: Path, tmp_path: Path) -> None:
        target = tmp_path / "target"
        target.write_text(json.dumps({"agent": str(AGENT), "written": {}}))
        state_file(folder).symlink_to(target)
        with pytest.raises(StateFault):
            to(folder, instructions="one")

    def test_neither_is_one_in_place_of_what_was_set_aside(self, folder: Path, tmp_path: Path) -> None:
        aside_folder(folder).symlink_to(tmp_path, target_is_directory=True)
        to(folder, instructions="ours")
        (folder / INSTRUCTIONS).write_text("changed")
        before = sorted(tmp_path.iterdir())
        with pytest.raises(StateFault):
            to(folder, instructions="ours")
        assert sorted(tmp_path.iterdir()) == before
        assert (folder / INSTRUCTIONS).read_text() == "changed"

    def test_one_that_is_too_large_is_not_read(self, folder: Path) -> None:
        state_file(folder).write_text(" " * (1024 * 1024 + 1))
        with pytest.raises(StateFault, match="too large"):
            to(folder, instructions="one")


class TestHostileFolder:
    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        found = tmp_path / "outside"
        found.mkdir()
        (found / "AGENTS.md").write_text("outside")
        (found / "SKILL.md").write_text("outside")
        return found

    def test_links_are_not_followed(self, folder: Path, outside: Path) -> None:
        (folder / INSTRUCTIONS).symlink_to(outside / "AGENTS.md")
        (folder / ".agents").symlink_to(outside, target_is_directory=True)
        outcome = to(folder, instructions="one", skill="two")
        assert outcome.faults == {INSTRUCTIONS: "link", SKILL: "link"}
        assert outcome.held == {path: Held(digest="", fault="link") for path in (INSTRUCTIONS, SKILL)}
        assert {path.name: path.read_text() for path in outside.iterdir()} == {
            "AGENTS.md": "outside",
            "SKILL.md": "outside",
        }

    @pytest.mark.parametrize("where", [".agents", ".agents/skills", ".agents/skills/some-key"])
    def test_a_link_on_the_way_to_what_we_wrote_leads_nowhere(self, folder: Path, outside: Path, where: str) -> None:
        to(folder, skill="outside")
        moved = folder / "moved"
        (folder / where).rename(moved)
        (folder / where).symlink_to(outside, target_is_directory=True)
        outcome = to(folder)
        assert outcome.removed == []
        assert outcome.faults == {SKILL: "link"}
        assert (outside / "SKILL.md").read_text() == "outside"

    def test_hard_links_and_what_is_no_file(self, folder: Path, outside: Path) -> None:
        (folder / INSTRUCTIONS).hardlink_to(outside / "AGENTS.md")
        (folder / SKILL).parent.mkdir(parents=True)
        os.mkfifo(folder / SKILL)
        assert to(folder, instructions="one", skill="two").faults == {INSTRUCTIONS: "hard_link", SKILL: "not_a_file"}
        assert (outside / "AGENTS.md").read_text() == "outside"

    def test_one_file_that_is_wrong_stops_no_other(self, folder: Path, outside: Path) -> None:
        (folder / INSTRUCTIONS).symlink_to(outside / "AGENTS.md")
        assert to(folder, instructions="one", skill="two").written == [SKILL]

    def test_a_link_in_place_of_the_folder(self, folder: Path, outside: Path) -> None:
        folder.rmdir()
        folder.symlink_to(outside, target_is_directory=True)
        with pytest.raises(WorkspaceFault) as refused:
            to(folder, instructions="one")
        assert refused.value.reason is FileFault.LINK
        assert (outside / "AGENTS.md").read_text() == "outside"

    def test_an_override_file_hides_the_instructions(self, folder: Path) -> None:
        (folder / "AGENTS.override.md").write_text("mine alone")
        outcome = to(folder, instructions="one")
        assert outcome.held[INSTRUCTIONS] == Held(digest="", fault="override_file")


class TestTwoAtOnce:
    def test_two_of_them_write_whole_files_and_end_the_same(self, folder: Path) -> None:
        texts = [f"{number} " * 20_000 for number in range(2)]
        problems: list[Exception] = []
        seen: set[str] = set()

        def work(text: str) -> None:
            try:
                for _ in range(15):
                    to(folder, instructions=text, skill=text)
            except (WorkspaceFault, StateFault, OSError) as error:
                problems.append(error)

        threads = [threading.Thread(target=work, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            if (folder / INSTRUCTIONS).exists():
                seen.add((folder / INSTRUCTIONS).read_text())
        assert not [problem for problem in problems if getattr(problem, "reason", None) is not FileFault.BUSY]
        assert seen <= set(texts)
        assert to(folder, instructions="end", skill="end").faults == {}
        assert not aside_folder(folder).exists(), "what the other wrote is ours"


class TestKilledWhileWriting:
    """Whatever was done when the power went, the next turn takes it for ours."""

    @pytest.mark.parametrize("after", [False, True], ids=["before the file", "after the file"])
    def test_either_text_is_ours(self, folder: Path, after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        old, new, newest = (render_block(uuid4(), text) for text in ("old", "new", "newest"))
        to(folder, skill=old)
        write = Workspace.write

        def dies(self: Workspace, path: str, text: str, *, expected: str | None) -> None:
            if after:
                write(self, path, text, expected=expected)
            raise KeyboardInterrupt

        monkeypatch.setattr(Workspace, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            to(folder, skill=new)
        monkeypatch.undo()
        assert (folder / SKILL).read_text() == (new if after else old)
        assert to(folder, skill=newest, replace=False).written == [SKILL]
        assert to(folder).removed == [SKILL]
        assert not aside_folder(folder).exists()


def test_the_state_is_whole_or_the_one_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(folder, State(agent=AGENT, written={SKILL: ["0" * 64]}))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateFault, match="No space"):
        save(folder, State(agent=AGENT))
    assert load(folder, AGENT).written == {SKILL: ["0" * 64]}
    assert len(list(folder.parent.iterdir())) == 2
