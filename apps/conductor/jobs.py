"""Every job by name. A job takes the id of one row, may come twice or late, and does nothing when nothing is due."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from apps.conductor import story, teams
from apps.conductor.runner import Runner
from apps.conductor.webhooks.sending import deliver
from apps.providers.services.requests import encode_request

Job = Callable[[UUID], None]


def jobs(runner: Runner) -> Mapping[str, Job]:
    """The jobs of a process that runs attempts with `runner`."""
    return {**everyday_jobs(), "dispatch": runner.dispatch, "kill": runner.kill}


def everyday_jobs() -> Mapping[str, Job]:
    """The jobs that any process can do."""
    return {
        "assign": story.assign_segments,
        "plan": story.plan,
        "settle": story.settle,
        "consider_drift": story.consider_drift,
        "embed": encode_request,
        "flush": story.flush,
        "land": story.land,
        "remove": story.remove,
        "render": teams.render,
        "webhooks": deliver,
    }
