"""Names of hosts. A name says in which workspace root a team's folders lie, never who may do what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tikitaka.errors import WrongState

HOST_CHARS_MAX = 63
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


class WorkspaceElsewhere(WrongState):
    """The folders of the team lie on another host, so that this process has left them alone."""

    code = "workspace_elsewhere"

    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(f"the folders of the team lie {root(host)}", host=host)


def is_host_name(text: str) -> bool:
    """Letters, digits, hyphens and dots, beginning with a letter or a digit: it becomes part of a queue's name."""
    return len(text) <= HOST_CHARS_MAX and _NAME.fullmatch(text) is not None


def root(host: str) -> str:
    """Where that is, in words; the empty name is the root that no host is named for."""
    return f"on host {host}" if host else "in the root without a name"


def freest(hosts: Sequence[str], teams: Mapping[str, int]) -> str:
    """The host with the fewest teams, the first of equals."""
    return min(hosts, key=lambda host: teams.get(host, 0))


def host_queue(queue: str, host: str) -> str:
    """The queue for jobs that touch files of a host; the common one where the root has no name."""
    return f"{queue}.{host}" if host else queue


def host_of_queue(queue: str) -> str:
    """The host whose files a queue's jobs touch; no name for a common queue."""
    return queue.partition(".")[2]
