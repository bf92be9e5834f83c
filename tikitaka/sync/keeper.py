"""The loop: ask, bring the folder to it, say what lies there; again and again, more slowly while something is wrong."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol
from uuid import UUID

from tikitaka.errors import TikiTakaError
from tikitaka.sync.folder import Held, Outcome, bring
from tikitaka.sync.manifest import Manifest
from tikitaka.sync.server import Refused, Unanswered
from tikitaka.sync.state import WrongFolder

DONE, REFUSED, BAD_ARGUMENTS = 0, 1, 2
_WAIT_S_MAX = 25
_PAUSE_S_MAX = 60
_TRIES_ONCE = 3


class Speaker(Protocol):
    """A server, or what stands for one in a test."""

    def fetch(self, *, known: str, wait_s: int) -> Manifest | None: ...

    def report(self, version: str, held: Mapping[str, Held]) -> list[str]: ...


class Keeper:
    """Keeps one folder for one agent."""

    def __init__(self, server: Speaker, folder: Path, agent: UUID) -> None:
        self._server = server
        self._folder = folder
        self._agent = agent
        self._manifest: Manifest | None = None
        self._said: tuple[str, dict[str, Held]] | None = None
        self._said_at = 0.0

    def turn(self, *, wait: bool) -> Outcome:
        """Once round. Raises what stands in the way."""
        manifest = self._fetch(wait=wait)
        outcome = bring(self._folder, self._agent, manifest, replace=False)
        _tell(outcome)
        if outcome.changed:  # what somebody did to our files is said before it is undone
            self._report(manifest, outcome)
            outcome = bring(self._folder, self._agent, manifest, replace=True)
            _tell(outcome)
        # At half of its time: until the next turn the other half may go by.
        late = time.monotonic() - self._said_at >= manifest.report_s / 2
        if late or self._said != (manifest.version, outcome.held):
            self._report(manifest, outcome)
        return outcome

    def _fetch(self, *, wait: bool) -> Manifest:
        known = self._manifest
        began = time.monotonic()
        wait_s = min(_WAIT_S_MAX, known.report_s // 2) if known and wait else 0
        found = self._server.fetch(known=known.version if known else "", wait_s=wait_s)
        if found is not None:
            self._manifest = found
            return found
        if known is None:
            raise Unanswered("the server says that nothing changed, and we have nothing")
        if time.monotonic() - began < 1:  # a server that does not wait is not asked at once again
            time.sleep(1)
        return known

    def _report(self, manifest: Manifest, outcome: Outcome) -> None:
        held = {file.path: outcome.held[file.path] for file in manifest.files if file.path in outcome.held}
        for path in self._server.report(manifest.version, held):
            say(f"{path} is not as it should be")
        self._said = (manifest.version, dict(outcome.held))
        self._said_at = time.monotonic()


def keep(keeper: Keeper, *, once: bool, sleep: Callable[[float], None] = time.sleep) -> int:
    """Goes on until it is ended or refused; with `once` until the folder is as it should be, or three times."""
    failures = 0
    while True:
        try:
            outcome = keeper.turn(wait=not once)
        except WrongFolder as problem:
            say(problem.detail)
            return BAD_ARGUMENTS
        except Refused as problem:
            say(f"refused: {problem.detail}")
            return REFUSED
        except TikiTakaError as problem:
            failures += 1
            say(f"{problem.code}: {problem.detail}")
            if once and failures >= _TRIES_ONCE:
                return REFUSED
            sleep(_pause(failures, getattr(problem, "after_s", 0)))
        else:
            failures = 0
            if once:
                return REFUSED if outcome.faults else DONE


def _pause(failures: int, after_s: int) -> float:
    """Twice as long each time, up to a minute, and never the same for two machines."""
    longest = min(_PAUSE_S_MAX, 2.0 ** min(failures, 6))
    return float(max(longest * (0.5 + secrets.randbelow(500) / 1_000), min(after_s, _PAUSE_S_MAX)))


def _tell(outcome: Outcome) -> None:
    for path in outcome.written:
        say(f"wrote {path}")
    for path in outcome.removed:
        say(f"removed {path}")
    for path, reason in outcome.faults.items():
        say(f"left {path}: {reason}")


def say(words: str) -> None:
    """A line on standard error: paths, codes and reasons, never the text of a file or a token."""
    sys.stderr.write(f"tikitaka.sync: {words}\n")
    sys.stderr.flush()
