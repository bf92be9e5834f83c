"""An in-process runtime for tests that need no program: answers by a function, counts what is in flight."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tikitaka.ports import Launch, RunEnd


class ScriptedRuntime:
    """Runs `script(launch)`; `peak` is the most attempts that were inside at one moment."""

    def __init__(self, script: Callable[[Launch], RunEnd | str] | None = None, *, seconds: float = 0.0) -> None:
        self._script = script or (lambda launch: "done")
        self._seconds = seconds
        self._lock = threading.Lock()
        self._inside = 0
        self.peak = 0
        self.prompts: list[str] = []

    def __call__(self, kind: str) -> ScriptedRuntime:
        return self

    def run(self, launch: Launch, *, on_line: Callable[[str], None], cancelled: Callable[[], bool]) -> RunEnd:
        with self._lock:
            self._inside += 1
            self.peak = max(self.peak, self._inside)
            self.prompts.append(launch.prompt)
        try:
            deadline = time.monotonic() + self._seconds
            while time.monotonic() < deadline:
                if cancelled():
                    return RunEnd(answer=None, error="cancelled")
                time.sleep(0.01)
            result = self._script(launch)
            return result if isinstance(result, RunEnd) else RunEnd(answer=result)
        finally:
            with self._lock:
                self._inside -= 1
