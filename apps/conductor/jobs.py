"""Every job by name. A job takes the id of one row, may come twice or late, and does nothing when nothing is due."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from apps.conductor import story
from apps.conductor.runner import Runner

Job = Callable[[UUID], None]


def jobs(runner: Runner) -> Mapping[str, Job]:
    """The jobs of a process that runs attempts with `runner`."""
    return {
        "assign": story.assign_segments,
        "plan": story.plan,
        "dispatch": runner.dispatch,
        "kill": runner.kill,
        "settle": story.settle,
        "consider_drift": story.consider_drift,
        "flush": story.flush,
        "land": story.land,
        "remove": story.remove,
    }
