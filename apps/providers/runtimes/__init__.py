"""Agent runtimes: programs that run one attempt. A new one is a module here with a class that has run()."""

from __future__ import annotations

from tikitaka.errors import Invalid
from tikitaka.ports import AgentRuntime


def runtime(kind: str) -> AgentRuntime:
    """The runtime of that name."""
    if kind == "process":
        from apps.providers.runtimes.process import ProcessRuntime

        return ProcessRuntime()
    raise Invalid(runtime="is not a known runtime")
