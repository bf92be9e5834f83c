"""A small process beside each worker that outlives it for a moment: when the worker dies, it kills what it ran.

Run as a program it reads lines `+<process group>` and `-<process group>`; at the end of input, which comes when the
worker is gone however it died, it kills every group that was not taken back.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


class Reaper:
    """The worker's end. One per process, started with the first group."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(Path(__file__))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            stdin = self._process.stdin
            if stdin is not None:
                stdin.write(line.encode())
                stdin.flush()


def kill_group(group: int) -> None:
    """Kills every process of the group; none left is fine."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        sign, number = line[:1], int(line[1:])
        (groups.add if sign == "+" else groups.discard)(number)
    for group in groups:
        kill_group(group)


if __name__ == "__main__":
    _main()
