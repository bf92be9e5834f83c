"""docs/api.md is true: its commands are played as one session beside a server, its codes and scopes are the code's."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apps.api import errors, idempotency, parsing
from tests.architecture.test_documents import Checkout, Demonstration, blocks, demo, healthy, make_checkout
from tikitaka.authz import MACHINE_SCOPES
from tikitaka.errors import TikiTakaError, WrongState

pytestmark = pytest.mark.encoder
ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
ADDRESS = "127.0.0.1:8000"
__all__ = ["demo"]


@contextmanager
def served(checkout: Checkout) -> Iterator[int]:
    """`make serve` on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--port", str(port)],
        cwd=checkout.folder,
        env=checkout.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert healthy(port, server)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=120)


def test_the_session_works(demo: Demonstration, tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout", demo.folder)
    found = blocks(TEXT)
    with served(checkout) as port:
        here = f"127.0.0.1:{port}"
        for block in found:
            if block.file:
                (checkout.folder / block.file).write_text(block.text.replace(ADDRESS, here), encoding="utf-8")
        # Its programs speak to the port that everybody knows, unless they are told another.
        session = "\n".join(block.text for block in found if block.language == "sh").replace(ADDRESS, here)
        session = session.replace("plain.py ", f"plain.py --url http://{here} ")
        done = checkout.run(session)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert 'event: end\ndata: {"status": "completed"}' in done.stdout, "the first task ran to its end"
    assert '"cancel_requested":false' in done.stdout
    assert '{"stored":1}' in done.stdout
    assert '"status":"completed"' in done.stdout
    assert "not_found" in done.stdout, "var/watch.py came to its end"
    assert "as told in 6 words" in done.stdout, "the orchestrator answered"
    shown = (checkout.folder / "var" / "headers").read_text().split()[-1]
    assert shown.startswith("tk_")
    assert shown not in done.stdout + done.stderr
    assert (checkout.folder / "var" / "headers").stat().st_mode & 0o077 == 0


def refusals() -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", TEXT.split("| status | codes |")[1].split("\n\n")[0]))


def kinds(error: type[TikiTakaError] = TikiTakaError) -> Iterator[type[TikiTakaError]]:
    yield error
    for kind in error.__subclasses__():
        yield from kinds(kind)


def test_the_codes_are_those_of_the_code() -> None:
    import config.urls  # noqa: F401 everything that the door can refuse with is loaded with it

    ours = {kind.code for kind in kinds()} | {code for _, code in errors._CODES} | {"database_away"}
    assert refusals() - ours == set()
    # What an address may answer that is about the moment, apart from what only agents and workers are told.
    inner = {"stale_flush", "stale_holder", "too_many_reports", "too_many_proposals"}
    inner |= {"team_not_paused", "team_has_work", "folders_missing", "last_owner", "not_an_agent"}
    inner |= {"no_attempt_running"}
    wrong = {kind.code for kind in kinds(WrongState) if kind.__module__.split(".")[0] in ("apps", "tikitaka")}
    assert {code for code in wrong if not code.startswith("move_")} - inner <= refusals()
    assert {code for _, code in errors._CODES} <= refusals()


def test_the_scopes_are_those_of_the_code() -> None:
    table = TEXT.split("| scope | allows |")[1].split("\n\n")[0]
    named = re.findall(r"^\| (.+?) \|", table, re.M)
    assert set(re.findall(r"`([a-z_]+)`", " ".join(named))) == {scope.value for scope in MACHINE_SCOPES}


def test_the_numbers_are_those_of_the_code() -> None:
    from apps.api.shapes.base import PAGE_MAX
    from apps.api.shapes.external import WAIT_S_MAX
    from tikitaka.policy import DEFAULT

    assert parsing.BODY_BYTES == 1024**2
    assert parsing.LARGE_BODY_BYTES == 8 * 1024**2
    assert idempotency._KEPT.total_seconds() == 24 * 3600
    for words in (
        f"{DEFAULT.requests_per_minute} a minute",
        f"at most {DEFAULT.token_days_max} days",
        f"`limit` is up to {PAGE_MAX}",
        f"({WAIT_S_MAX} at most)",
        "1 MiB, spans and ends of attempts 8 MiB",
        "once in 24 hours",
    ):
        assert words in TEXT, words
