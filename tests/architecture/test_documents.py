"""The documents are true: every command in them runs, every name in them exists, nothing of this machine is in them.

Each document is worked through from top to bottom in a scratch checkout of its own, with a copy of one demonstration's
data. A command that this module does not know how to judge fails its document.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.encoder
ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON = ".venv/bin/python"
TIMEOUT_S = 240

# Targets of the Makefile that a document may name: what is run in their place, None for what a test run cannot be.
MAKE = {
    "audit": None,
    "demo": f"{PYTHON} manage.py demo",
    "serve": f"{PYTHON} manage.py serve",
    "setup": None,
    "test": None,
}
MANAGE = {
    "demo",
    "doctor",
    "evaluate",
    "import_transcript",
    "issue_token",
    "ledger_verify",
    "migrate",
    "move_database",
    "prune",
    "reconcile",
    "run_task",
    "shell",
    "sweep",
}
PROGRAMS = (
    f"{PYTHON} -m tikitaka.safety",
    f"{PYTHON} benchmarks/dag.py",
    f"{PYTHON} benchmarks/ledger.py",
    f"{PYTHON} benchmarks/rest.py",
    f"{PYTHON} benchmarks/mcp.py",
    f"{PYTHON} -c import sqlite3",
    "mkdir -p var/",
    "pg_dump --format=custom --file=var/",
    "pg_restore --exit-on-error --no-owner --dbname=",
    "tar -czf var/",
)


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def parametrized(documents: list[Path] = DOCUMENTS) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("document", documents, ids=name_of)


# --- what stands in a document


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its language, its text, and the file that a comment above it says it is."""

    language: str
    text: str
    file: str


_BLOCK = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def blocks(text: str) -> list[Block]:
    return [
        Block(language=found["language"], text=found["text"], file=found["file"] or "")
        for found in _BLOCK.finditer(text)
    ]


def commands(block: Block) -> list[str]:
    """The commands of a block: every line of sh, the lines after a dollar sign of console."""
    lines = [line.strip() for line in block.text.splitlines() if line.strip()]
    if block.language == "console":
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return lines if block.language == "sh" else []


# Documents whose commands need PostgreSQL, and the test that works through them with the functions of this file.
WITH_SERVICES = {
    "docs/moving.md": "tests/services/test_move_database.py",
    "docs/operations.md": "tests/services/test_operations.py",
}

# Documents that are one session of a shell beside a server, and the test that plays it.
SESSIONS = {"docs/api.md": "tests/doors/api/test_documented.py"}

WITH_COMMANDS = [
    document
    for document in DOCUMENTS
    if name_of(document) not in {**WITH_SERVICES, **SESSIONS}
    and any(commands(block) for block in blocks(document.read_text(encoding="utf-8")))
]


# --- running it


class Unknown(AssertionError):
    """A command that no test can judge."""


def classify(command: str) -> str:
    """make, serve, export, agents or run; raises Unknown for anything else."""
    parts = simple_commands(command)
    if parts == [["make", *parts[0][1:]]] and len(parts[0]) == 2 and parts[0][1] in MAKE:
        return "make"
    if parts[0][:3] == ["claude", "mcp", "add"] and len(parts) == 1:
        return "agents"
    if re.fullmatch(r"export [A-Z_]+=[\w./-]+", command):
        return "export"
    heads = [words for words in parts if words[0] != "echo"]
    if len(heads) == 1:
        words = heads[0]
        if words[:3] == [PYTHON, "manage.py", "serve"]:
            return "serve"
        if words[:2] == [PYTHON, "manage.py"] and words[2:] and words[2] in MANAGE:
            return "run"
        if " ".join(words).startswith(PROGRAMS):
            return "run"
    raise Unknown(f"{command!r} is of no kind that is tried here")


def simple_commands(command: str) -> list[list[str]]:
    """The words of each command of a pipeline; reading from a file is allowed, no other shell syntax is."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            parts.append([])
        elif set(word) <= set("();<>|&") and word != "<":
            raise Unknown(f"{command!r} holds {word}")
        else:
            parts[-1].append(word)
    if "$" in command or "`" in command or not all(parts):
        raise Unknown(f"{command!r} leaves something to the shell")
    return parts


@dataclass(slots=True)
class Checkout:
    """A folder that looks like a checkout; what commands write stays in it."""

    folder: Path
    environment: dict[str, str]

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )


def make_checkout(folder: Path, data: Path | None) -> Checkout:
    folder.mkdir()
    for item in ROOT.iterdir():
        if item.name not in ("var", ".git"):
            (folder / item.name).symlink_to(item)
    (folder / "var").mkdir()
    if data is not None:
        for name in ("demo", "demo-keys"):
            shutil.copytree(data / name, folder / "var" / name, symlinks=True)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return Checkout(folder, kept | {"TIKITAKA_DATA": str(folder / "var" / "demo")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """What the demonstration printed, and the folder of its data and keys."""

    output: str
    folder: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    """Run once; the documents get copies of its data."""
    checkout = make_checkout(tmp_path_factory.mktemp("demo") / "checkout", None)
    done = checkout.run(MAKE["demo"])
    assert done.returncode == 0, done.stderr
    return Demonstration(output=done.stdout, folder=checkout.folder / "var")


def try_command(command: str, checkout: Checkout) -> None:
    """Runs a command as the reader would; fails with what it said."""
    kind = classify(command)
    if kind == "make":
        underlying = MAKE[command.removeprefix("make ")]
        assert makefile_targets()[command.removeprefix("make ")] == underlying
        if underlying == MAKE["demo"] or underlying is None:
            return  # the demonstration has been run for the copy in this checkout
        command, kind = underlying, "serve"
    if kind == "export":
        name, _, value = command.removeprefix("export ").partition("=")
        checkout.environment[name] = value
        return
    if kind == "agents":
        assert "claude mcp add" in (ROOT / "tests/agents/test_programs.py").read_text(), "run with the real program"
        return
    if kind == "serve":
        serve(command, checkout)
        return
    done = checkout.run(command)
    assert done.returncode == 0, f"{command}\nexit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def serve(command: str, checkout: Checkout) -> None:
    """Starts the server on a free port, asks whether it is healthy, and ends it by its id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = shlex.split(re.sub(r" --port \d+", "", command))
    process = subprocess.Popen(
        [*words, "--port", str(port)],
        cwd=checkout.folder,
        env=checkout.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert healthy(port, process), process.stderr.read() if process.poll() is not None else "no answer"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


def healthy(port: int, process: subprocess.Popen[str]) -> bool:
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer,
        ):
            return answer.status == 200 and b'"healthy"' in answer.read()
        time.sleep(0.2)
    return False


def makefile_targets() -> dict[str, str | None]:
    """The one manage.py call of each target, None where the target is something else."""
    found: dict[str, str | None] = {}
    for match in re.finditer(r"^([a-z]+):.*\n((?:\t.*\n?)*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M):
        called = re.findall(r"^\t@\$\(PY\) (manage\.py [a-z_]+)$", match[2], re.M)
        found[match[1]] = f"{PYTHON} {called[0]}" if match[2].count("\n") == 1 and called else None
    return found


@parametrized(WITH_COMMANDS)
def test_every_command_works(document: Path, demo: Demonstration, tmp_path: Path) -> None:
    """Files named above a block are saved first, as the document asks its reader to do."""
    checkout = make_checkout(tmp_path / "checkout", demo.folder)
    found = blocks(document.read_text(encoding="utf-8"))
    for block in found:
        if block.file:
            (checkout.folder / block.file).write_text(block.text, encoding="utf-8")
    for block in found:
        for command in commands(block):
            try_command(command, checkout)


def test_the_transcript_is_what_the_demonstration_prints(demo: Demonstration) -> None:
    """Every line of it, scores included."""
    (shown,) = [b for b in blocks((ROOT / "README.md").read_text(encoding="utf-8")) if b.language == "text"]
    printed = demo.output.splitlines()
    assert len(shown.text.splitlines()) > 10
    assert [line for line in shown.text.splitlines() if line not in printed] == []


@pytest.mark.parametrize(("document", "file"), WITH_SERVICES.items())
def test_commands_that_need_services_are_tried_with_them(document: str, file: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    assert Path(document).name in source
    assert "try_command(" in source
    found = [command for block in blocks((ROOT / document).read_text(encoding="utf-8")) for command in commands(block)]
    assert {classify(command) for command in found} <= {"run", "serve", "export"}


@pytest.mark.parametrize(("document", "file"), SESSIONS.items())
def test_sessions_are_played(document: str, file: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    assert Path(document).name in source
    assert "blocks(" in source


@pytest.mark.parametrize(
    "command",
    [
        "curl http://example.invalid",
        "make nonsense",
        f"{PYTHON} manage.py flush",
        f"{PYTHON} manage.py sweep; rm -r x",
        f"{PYTHON} manage.py sweep && rm -r x",
        "rm -r var",
        "export TIKITAKA_DATA=$HOME",
    ],
)
def test_a_command_of_no_kind_is_refused(command: str) -> None:
    with pytest.raises(Unknown):
        classify(command)


# --- names


@parametrized()
def test_every_link_leads_somewhere(document: Path) -> None:
    """Relative links, with the heading after a number sign."""
    broken = []
    for target in _LINK.findall(document.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.is_file() or not file.is_relative_to(ROOT) or (heading and heading not in headings(file)):
            broken.append(target)
    assert broken == []


def headings(file: Path) -> set[str]:
    """The anchors of a document's headings."""
    titles = re.findall(r"^#+ (.+)$", _BLOCK.sub("", file.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_every_management_command_is_documented() -> None:
    ours = {path.stem for path in ROOT.glob("apps/*/management/commands/*.py")} - {"__init__"}
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    assert ours
    assert {command for command in ours if not re.search(rf"manage\.py {command}\b", text)} == set()


def test_every_target_that_a_document_names_exists() -> None:
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    assert set(re.findall(r"`(?:[A-Z]+=\S+ )?make ([a-z]+)`", text)) | set(MAKE) <= set(makefile_targets())


def test_the_table_of_variables_is_the_code() -> None:
    read = set()
    for path in ROOT.glob("config/**/*.py"):
        read |= set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', path.read_text(encoding="utf-8")))
    rows = re.findall(r"^\| `([A-Z_]+)`", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(read) > 15
    assert sorted(rows) == sorted(read)


def test_every_variable_that_a_document_names_exists() -> None:
    from tikitaka.policy import Policy

    known = set(re.findall(r"TIKITAKA_[A-Z_]+", "".join(p.read_text() for p in ROOT.glob("config/**/*.py"))))
    known |= {f"{name}_FILE" for name in known}
    known |= {f"TIKITAKA_POLICY_{name.upper()}" for name in Policy.__dataclass_fields__}
    known |= {"TIKITAKA_ATTEMPT", "TIKITAKA_THREAD", "TIKITAKA_POLICY_", "TIKITAKA_MOVE_TO", "TIKITAKA_TOKEN"}
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    assert set(re.findall(r"TIKITAKA_[A-Z_]+", text)) - known == set()


def test_every_named_value_is_explained() -> None:
    """Reasons of review and of denial, kinds of incident, faults that can be seen: as the code has them."""
    from apps.conductor.models import IncidentKind
    from tikitaka.review.triggers import ReviewReason

    reviewers = (ROOT / "docs" / "reviewers.md").read_text(encoding="utf-8")
    operators = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert {reason.value for reason in ReviewReason if f"| `{reason.value}` |" not in reviewers} == set()
    assert {kind.value for kind in IncidentKind if f"| `{kind.value}` |" not in operators} == set()


@parametrized()
def test_every_test_that_is_cited_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^(?:class|def) {name}\b", source, re.M), f"{file}::{name}"


@parametrized()
def test_every_path_of_the_tree_that_is_named_exists(document: Path) -> None:
    """Paths in backticks that begin with a folder of the checkout."""
    folders = "apps|benchmarks|config|docs|examples|scripts|static|templates|tests|tikitaka"
    named = re.findall(rf"`((?:{folders})/[\w/.-]*)`", document.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


# --- what must not stand in a document

MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home|tmp|var|mnt|opt|Users)/")
REGISTRIES = re.compile(r"pypi\.org|pythonhosted|download\.pytorch|registry\.npmjs|docker\.io|ghcr\.io|index-url", re.I)
MAKERS = re.compile(r"\b(?:claude|codex|gpt|ai)[- ](?:wrote|written|generated|built)\b|co-authored|hackathon", re.I)


def unwanted(text: str) -> list[str]:
    return [found[0] for pattern in (MACHINE, REGISTRIES, MAKERS) for found in pattern.finditer(text)]


@parametrized()
def test_nothing_of_this_machine_or_of_its_makers(document: Path) -> None:
    assert unwanted(document.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("text", ["see /work/main", "/root/x", "at /tmp/demo/data", "from pypi.org", "Co-Authored-By"])
def test_what_is_unwanted_is_found(text: str) -> None:
    assert unwanted(text)


def test_pictures_are_small_and_used() -> None:
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    for picture in iterate(ROOT / "docs" / "pictures"):
        assert picture.stat().st_size < 150_000
        assert f"pictures/{picture.name}" in text


def iterate(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.iterdir() if path.is_file())
